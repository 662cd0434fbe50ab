"""Counterexamples that people can use: as a value, a file, a text and a sequence chart.

`counterexample(model, result)` makes one of what a checker found, `of_run(...)` of a run of a machine;
`Counterexample.save` and `load` keep it; `render(example, format)` shows it.
"""

from __future__ import annotations

from .form import Change, Counterexample, CounterexampleError, MachineStep, Moment, load
from .make import counterexample, of_run
from .mermaid import chart
from .text import lines

FORMATS = ("text", "mermaid", "json")


def render(example: Counterexample, format: str) -> str:
    """The counterexample in one of `FORMATS`, with a newline at its end."""
    match format:
        case "text":
            return "\n".join(lines(example)) + "\n"
        case "mermaid":
            return chart(example)
        case "json":
            return example.text()
        case _:
            raise ValueError(f"no format {format}: there are {', '.join(FORMATS)}")


__all__ = [
    "FORMATS", "Change", "Counterexample", "CounterexampleError", "MachineStep", "Moment", "counterexample", "load",
    "of_run", "render",
]  # fmt: skip
