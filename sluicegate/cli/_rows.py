"""What `check` tells of a model: lines for a person, or plain data for a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..spec.claims import Claim
    from ..spec.judge import Row

HEAD = f"{'model':14} {'distinct':>9} {'seconds':>8}  {'tla-checker':28} {'TLC':28} properties"


def line(row: Row) -> str:
    """The line of a model, under `HEAD`."""
    judged = " ".join(f"{row.verdicts.get(checker, '-'):28}" for checker in ("tla-checker", "TLC"))
    return f"{row.name:14} {row.distinct:>9} {row.seconds:>8.1f}  {judged} {row.properties}"


def details(row: Row, own: bool, asked: bool, format: str) -> Iterator[str]:
    """What stands under the line of a model: its scope, properties and findings, and what shows that one fails.

    `own` is set for what somebody has declared for himself, `asked` where this model was asked for by
    name: both are told in full.
    """
    from ..spec.counterexamples import render

    if row.scope and (own or asked or not row.ok):
        yield row.scope
    for finding in row.findings:
        yield f"{'FAILED' if finding.fault else 'note'}: {finding}"
        yield from (f"    {line}" for line in finding.run)
    shown = any(finding.fault for finding in row.findings)
    for claim in row.claims:
        broken = not claim.ok and (claim.verdict in ("fails", "not reached") or bool(claim.story))
        shown = shown or broken
        if own or broken:
            yield from _claim(claim, broken)
    if row.unjudged:
        yield f"NOT JUDGED: {row.trouble.removeprefix('not judged: ')}"
    elif not row.ok and not shown:
        yield f"FAILED: {row.trouble}"
    told = {claim.name for claim in row.claims if claim.story} if format == "text" else set[str]()
    for name, make in row.examples.items():
        if format != "json" and name not in told and (own or asked or not row.ok):
            yield from (f"    {line}" for line in render(make(), format).splitlines())


def _claim(claim: Claim, broken: bool) -> Iterator[str]:
    words = f": {claim.says}" if claim.says else ""
    mark = "FAILED: " if broken else ""
    within = " within the scope" if claim.beyond and claim.verdict == "not reached" else ""
    yield f"{mark}{claim.name} {claim.verdict}{within}{', as it must' if claim.expected else ''}{words}"
    by = [
        f"{j.checker} {j.verdict}, {j.distinct} states, {j.seconds:.1f} s" if j.seconds else f"{j.checker} {j.verdict}"
        for j in claim.judged
    ]
    yield f"    {'; '.join(by) or 'TLC alone judges it'}"
    if claim.beyond:
        yield f"    {claim.beyond}; --bound NAME=VALUE goes further"
    yield from (f"    {line}" for line in claim.story)


def data(row: Row) -> dict[str, Any]:
    """All of a row, with its counterexamples, as JSON has it."""
    return {
        "name": row.name,
        "verdict": "good" if row.ok else "not judged" if row.unjudged else "failed",
        "trouble": row.trouble,
        "distinct": row.distinct,
        "seconds": round(row.seconds, 3),
        "scope": row.scope,
        "checkers": dict(row.verdicts),
        "findings": [
            {"kind": f.kind, "text": f.text, "fault": f.fault, "run": list(f.run)} for f in row.findings
        ],
        "properties": [_claim_data(claim) for claim in row.claims],
        "counterexamples": [make().as_json() for make in row.examples.values()],
    }  # fmt: skip


def _claim_data(claim: Claim) -> dict[str, Any]:
    return {
        "name": claim.name,
        "says": claim.says,
        "verdict": claim.verdict,
        "good": claim.ok,
        "expected": claim.expected,
        "scope": claim.beyond,
        "judged": [
            {"by": j.checker, "verdict": j.verdict, "distinct": j.distinct, "seconds": round(j.seconds, 3)}
            for j in claim.judged
        ],
        "run": list(claim.story),
    }
