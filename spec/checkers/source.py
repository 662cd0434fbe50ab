"""What can be read off a TLA+ module's text without parsing it: comments, imports, defined names."""

from __future__ import annotations

import re

STANDARD_MODULES = frozenset(
    {"Naturals", "Integers", "Sequences", "FiniteSets", "TLC", "Bags", "Reals", "Randomization"}
)
EXTENDS = re.compile(r"^[ \t]*EXTENDS[ \t]+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)

_INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")
_DECLARED = re.compile(r"^[ \t]*(CONSTANT|VARIABLE)S?\s+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)
_DEFINED = re.compile(r"^(?:LOCAL[ \t]+)?(\w+)[ \t]*(?:\([^)=]*\)|\[[^]=]*\])?[ \t]*==(?!=)", re.MULTILINE)
_OUTSIDE = re.compile(r'"(?:\\.|[^"\\\n])*"|\\\*[^\n]*|\(\*')
_INSIDE = re.compile(r"\(\*|\*\)")


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


def definitions(text: str) -> list[str]:
    """The names that a module without comments declares or defines at its top level, in the first column."""
    declared = [name.strip() for _, names in _DECLARED.findall(text) for name in names.split(",")]
    return declared + _DEFINED.findall(text)


def constants(text: str) -> list[str]:
    """The constants that a module without comments declares."""
    return [name.strip() for kind, names in _DECLARED.findall(text) if kind == "CONSTANT" for name in names.split(",")]


def comments(text: str) -> dict[str, str]:
    """What the line comments just above each definition of a module say of it."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in text.splitlines():
        if line.startswith("\\*"):
            above.append(line.removeprefix("\\*").strip())
            continue
        if (defined := _DEFINED.match(line)) and above:
            found[defined[1]] = " ".join(above)
        above = []
    return found


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
