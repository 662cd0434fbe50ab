"""What Python asks of a value, and an expression or rule cannot answer while a machine is declared.

Rules of this file:

- Whatever is asked of one that it has not is an error with its place and mend, never Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .problems import misused

C = TypeVar("C", bound=type)

_BOTH_SIDES = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "divmod": "divmod",
}  # fmt: skip
_ONE_SIDE = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neg": "-", "pos": "+", "invert": "~", "abs": "abs()",
    "len": "len()", "int": "int()", "float": "float()", "complex": "complex()", "index": "number", "round": "round()",
    "getitem": "[...]", "setitem": "[...] =", "delitem": "del", "reversed": "reversed()", "enter": "with",
}  # fmt: skip


def no_operators(has: Callable[[Any], str]) -> Callable[[C], C]:
    """A class decorator: every operator that the class has not is an error; `has` says what it has instead."""

    def complete(cls: C) -> C:
        signs = {**_ONE_SIDE, **_BOTH_SIDES, **{f"r{name}": sign for name, sign in _BOTH_SIDES.items()}}
        for name, sign in signs.items():
            if f"__{name}__" not in cls.__dict__:
                setattr(cls, f"__{name}__", _absent(sign, has))
        return cls

    return complete


def _absent(sign: str, has: Callable[[Any], str]) -> Callable[..., Any]:
    # In Python & and | bind closer than a comparison.
    hint = "; beside & and | a comparison stands in parentheses" if sign in ("<", "<=", ">", ">=") else ""

    def method(self: Any, *_: Any) -> Any:
        raise misused(str(self), f"has no {sign}", f"{has(self)}{hint}")

    return method


class Asked:
    """Something of the language whose methods are all that it has."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # What begins with an underscore is asked by Python's own tools, which go on without it.
            kind = type(self).__name__
            if name.startswith("_"):
                raise AttributeError(f"{kind} has no {name}")
            methods = [n for n, value in vars(type(self)).items() if not n.startswith("_") and callable(value)]
            mend = f"{_article(kind)} has {', '.join(f'.{n}(...)' for n in methods) or 'nothing'}"
            raise misused(kind, f"has no .{name}", mend)


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}"
