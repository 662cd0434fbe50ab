"""What can be read off a TLA+ module's text without parsing it: comments, imports, defined names."""

from __future__ import annotations

import re
from collections.abc import Mapping

STANDARD_MODULES = frozenset(
    {"Naturals", "Integers", "Sequences", "FiniteSets", "TLC", "Bags", "Reals", "Randomization"}
)
EXTENDS = re.compile(r"^[ \t]*EXTENDS[ \t]+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)

_INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")
_NAME = r"\w+(?:\s*\([\s_,]*\))?"
_DECLARED = re.compile(rf"^[ \t]*(CONSTANT|VARIABLE)S?\s+({_NAME}(?:\s*,\s*{_NAME})*)", re.MULTILINE)
_HEAD = r"(?:LOCAL[ \t]+)?(\w+)[ \t]*(?:\([^)=]*\)|\[[^]=]*\])?[ \t]*==(?!=)"
_DEFINED = re.compile(f"^{_HEAD}", re.MULTILINE)
"""A definition in the first column, as generated modules have them."""
_TOP = re.compile(rf'"(?:\\.|[^"\\\n])*"|\bLET\b|(?<!\\)\bIN\b|^[ \t]*{_HEAD}', re.MULTILINE)
"""What tells a definition of a module, which may be indented, from those between LET and IN."""
_UNNAMED_INSTANCE = re.compile(r"^[ \t]*(?:LOCAL[ \t]+)?INSTANCE\s+(\w+)", re.MULTILINE)
_OUTSIDE = re.compile(r'"(?:\\.|[^"\\\n])*"|\\\*[^\n]*|\(\*')
_INSIDE = re.compile(r"\(\*|\*\)")


GENERATED = "\\* Made by `sluicegate generate`"
"""How a generated module begins."""

_WORD = re.compile(r"\w+")
_END = "\n===="


def used_only(modules: Mapping[str, str], root: str, config: str) -> dict[str, str]:
    """The modules, the generated ones beside `root` without the definitions that nothing uses.

    Both checkers pay for every definition: one at its start, the other at each step as well. A name in
    a comment counts as used. What is written by hand stays whole, so that its mistakes are told.
    """
    heads: dict[str, str] = {}
    bodies: dict[str, dict[str, str]] = {}
    for name, text in modules.items():
        if name != root and text.startswith(GENERATED) and (found := list(_DEFINED.finditer(text))):
            ends = [*(match.start() for match in found[1:]), text.rindex(_END)]
            heads[name] = text[: found[0].start()]
            bodies[name] = {m[1]: text[m.start() : end] for m, end in zip(found, ends, strict=True)}
    defined = {name: body for module in bodies.values() for name, body in module.items()}
    texts = [config, *heads.values(), *(text for name, text in modules.items() if name not in bodies)]
    used: set[str] = set()
    while texts:
        named = {word for word in _WORD.findall(texts.pop()) if word in defined} - used
        used |= named
        texts += [defined[name] for name in named]
    lean = {
        name: heads[name] + "".join(text for defines, text in body.items() if defines in used) + _END
        for name, body in bodies.items()
    }
    return {**modules, **lean}


def without_comments(text: str) -> str:
    """The text with every comment blanked, nested ones too; line and column of all else stay."""
    out: list[str] = []
    depth = at = 0
    while match := (_INSIDE if depth else _OUTSIDE).search(text, at):
        between, word = text[at : match.start()], match[0]
        out.append(_blank(between) if depth else between)
        out.append(word if word.startswith('"') else _blank(word))
        depth += {"(*": 1, "*)": -1}.get(word, 0)
        at = match.end()
    out.append(_blank(text[at:]) if depth else text[at:])
    return "".join(out)


def imports(text: str) -> list[str]:
    """The modules of ours that a module extends or instantiates."""
    instances = _INSTANCE.findall(without_comments(text))
    return extended(text) + [name for name in instances if name not in STANDARD_MODULES]


def extended(text: str) -> list[str]:
    """The modules of ours that a module extends."""
    bare = without_comments(text)
    names = [name.strip() for names in EXTENDS.findall(bare) for name in names.split(",")]
    return [name for name in names if name not in STANDARD_MODULES]


def instantiated(text: str) -> list[str]:
    """The modules of ours whose names a module has by an INSTANCE without a name."""
    return [name for name in _UNNAMED_INSTANCE.findall(without_comments(text)) if name not in STANDARD_MODULES]


def definitions(text: str) -> list[str]:
    """The names that a module without comments declares or defines at its top level, each at the start of a line."""
    found = [name for _, names in _DECLARED.findall(text) for name in _each(names)]
    inside = 0
    for match in _TOP.finditer(text):
        if match[1] and not inside:
            found.append(match[1])
        inside = max(0, inside + {"LET": 1, "IN": -1}.get(match[0], 0))
    return found


def constants(text: str) -> list[str]:
    """The constants that a module without comments declares."""
    return [name for kind, names in _DECLARED.findall(text) if kind == "CONSTANT" for name in _each(names)]


def _each(declared: str) -> list[str]:
    """The names in a list of declared ones, without the places of an operator's arguments."""
    return re.findall(r"\w*[^\W_]\w*", re.sub(r"\([^)]*\)", "", declared))


def comments(text: str) -> dict[str, str]:
    """What the line comments just above each definition of a module say of it."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("\\*"):
            above.append(line.removeprefix("\\*").strip())
            continue
        if (defined := _DEFINED.match(line)) and above:
            found[defined[1]] = " ".join(above)
        above = []
    return found


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
