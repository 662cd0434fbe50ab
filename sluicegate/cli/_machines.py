"""Machines that are named on the command line, as MODULE:CLASS.

Rules of this file:

- Whatever a named module does while it is imported, the command goes on to say what was wrong with it.
- A machine whose declaration is broken is no unknown name: its `DeclarationError` passes through.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..statemachines import Machine


class UnknownName(Exception):
    """Something was named that is not there; one line that says why and how to mend it."""


def load_machine(name: str) -> type[Machine]:
    """The machine `MODULE:CLASS`; the module is looked for in the working directory first.

    Raises:
        UnknownName: the name leads to no declared machine, or its module cannot be imported.
        DeclarationError: the machine's declaration is broken.
    """
    from ..statemachines import DeclarationError, Machine

    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise UnknownName(f"{name!r}: write MODULE:CLASS, as in mypkg.orders:Order")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except (DeclarationError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: it must not end this process
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise UnknownName(f"{name}: there is no module {error.name}: run from the folder that holds it") from error
        said = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(os.getcwd())]
        where = f" at {os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""
        raise UnknownName(f"{name}: {module} cannot be imported ({said}){where}: mend the module") from error
    if found is None:
        raise UnknownName(f"{name}: {module} has no {attribute}: name a class that it declares")
    if not (isinstance(found, type) and issubclass(found, Machine)):
        raise UnknownName(f"{name}: is not a machine: derive it from sluicegate.Machine")
    if not hasattr(found, "ir"):
        raise UnknownName(f"{name}: is the base of all machines and declares none: name a class derived from it")
    return found
