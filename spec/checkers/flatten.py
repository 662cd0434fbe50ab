"""One flat module out of a model: tla-checker reads a single text and no module of ours beside it.

Every extended module of ours is put before the module that extends it, once; standard modules are
kept in the one EXTENDS. Comments become blanks, since tla-checker fails on nested ones; columns stay
as they are, since bulleted lists mean by them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .model import Model
from .source import EXTENDS, STANDARD_MODULES, definitions, without_comments

_HEADER = re.compile(r"-{4,}\s*MODULE\s+(\w+)\s*-{4,}")
_FOOTER = re.compile(r"^={4,}", re.MULTILINE)
_INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")


class FlattenError(ValueError):
    """A model that cannot be made one flat module; the message says which module and why."""


def flatten(model: Model) -> str:
    """The model as one module text named like its root.

    Raises FlattenError for a module that is missing, INSTANCE of a module of ours, modules that
    extend each other in a circle, or a name defined in two modules.
    """
    order: list[tuple[str, str]] = []
    standard: set[str] = set()
    _collect(model.name, model.modules, order, standard, ())
    _refuse_clashes(order)
    extends = f"EXTENDS {', '.join(sorted(standard))}\n" if standard else ""
    body = "\n".join(text for _, text in order)
    return f"---- MODULE {model.name} ----\n{extends}{body}\n====\n"


def _collect(
    name: str,
    modules: Mapping[str, str],
    order: list[tuple[str, str]],
    standard: set[str],
    above: tuple[str, ...],
) -> None:
    if name in above:
        raise FlattenError(f"modules extend each other in a circle: {' -> '.join([*above, name])}")
    if any(name == done for done, _ in order):
        return
    if name not in modules:
        raise FlattenError(f"the model {' -> '.join([*above, name])} lacks the text of module {name}")
    text = without_comments(modules[name])
    header = _HEADER.search(text)
    if header is None or header[1] != name:
        raise FlattenError(f"module {name} does not begin with '---- MODULE {name} ----'")
    body = text[header.end() :]
    footer = _FOOTER.search(body)
    body = body[: footer.start()] if footer else body
    if used := _INSTANCE.search(body):
        raise FlattenError(f"module {name}: INSTANCE {used[1]} cannot be inlined; use TLC alone")
    for names in EXTENDS.findall(body):
        for extended in (n.strip() for n in names.split(",")):
            if extended in STANDARD_MODULES:
                standard.add(extended)
            else:
                _collect(extended, modules, order, standard, (*above, name))
    order.append((name, EXTENDS.sub("", body).strip("\n")))


def _refuse_clashes(order: list[tuple[str, str]]) -> None:
    owner: dict[str, str] = {}
    for module, text in order:
        for name in definitions(text):
            if name in owner:
                raise FlattenError(f"{name} is defined in module {owner[name]} and in module {module}")
            owner[name] = module
