"""Mutants that no property objects to, each with the argument why that is right."""

from __future__ import annotations

_QUIET = (
    "a rank is quiet only after nothing was active, and a draining gate admits nothing: where all ranks are quiet "
    "nothing is active, but at a replica without ranks; the guard says so to whoever reads the table"
)

_LOWER = (
    "who rules publishes only what is newer than what it read there, and who does not rule is refused by its term; "
    "the register holds to its rule for programs that are no controllers"
)

SURVIVORS: dict[str, str] = {
    "Gate.Lend.lends: guard without active is empty": _QUIET,
    "Gate.Install.installs: guard without active is empty": _QUIET,
    "Controllers: the register takes a lower version": _LOWER,
}
"""Name of a mutant -> why nothing objects to it."""
