"""Machines and models that are named on the command line, as MODULE or MODULE:NAME.

Rules of this file:

- Whatever a named module does while it is imported, the command goes on to say what was wrong with it.
- A machine whose declaration is broken is no unknown name: its `DeclarationError` passes through. For an
  exit status it is the same: there is nothing to judge.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..spec.models import SystemModel
    from ..statemachines import Machine


class UnknownName(Exception):
    """Something was named that is not there; one line that says why and how to mend it."""


def load_machine(name: str) -> type[Machine]:
    """The machine `MODULE:CLASS`, or one taken over from a configuration of `transitions` of that name.

    The module is looked for in the working directory first.

    Raises:
        UnknownName: the name leads to no declared machine, or its module cannot be imported.
        DeclarationError: the machine's declaration is broken.
    """
    from ..statemachines import Machine
    from ..statemachines.imported import is_configuration

    module, _, attribute = name.partition(":")
    _refuse_path(name)
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise UnknownName(f"{name!r}: write MODULE:CLASS, as in mypkg.orders:Order")
    found = _attribute(name, _module(name, module), attribute)
    if is_configuration(found):
        return _taken_over(name, found, attribute)
    if isinstance(found, dict):
        raise UnknownName(f"{name}: is a dict without `states` and `transitions`: a configuration has both")
    if not (isinstance(found, type) and issubclass(found, Machine)):
        raise UnknownName(f"{name}: is not a machine: derive it from sluicegate.Machine")
    if not hasattr(found, "ir"):
        raise UnknownName(f"{name}: is the base of all machines and declares none: name a class derived from it")
    return found


def load_declared(name: str) -> tuple[list[type[Machine]], list[SystemModel]]:
    """What `MODULE` declares, or the one thing `MODULE:NAME`: machines, and models of the whole.

    A module declares the machines that are written in it, and the models in its `MODELS`. A
    configuration of the `transitions` library is taken over as a machine.

    Raises:
        UnknownName: the name leads to nothing that can be checked, or its module cannot be imported.
        DeclarationError: a machine's declaration is broken.
    """
    from ..spec.models import SystemModel
    from ..statemachines import Machine

    module, colon, attribute = name.partition(":")
    _refuse_path(name)
    if not all(part.isidentifier() for part in (*module.split("."), *([attribute] if colon else []))):
        raise UnknownName(f"{name!r}: write MODULE or MODULE:NAME, as in mypkg.orders:Order")
    found = _module(name, module)
    if not colon:
        declared = [v for v in vars(found).values() if isinstance(v, type) and issubclass(v, Machine)]
        machines = [m for m in dict.fromkeys(declared) if m.__module__ == found.__name__]
        models = _models(name, getattr(found, "MODELS", ()))
        if not machines and not models:
            raise UnknownName(f"{name}: declares no machine and no MODELS: name what is to be checked, MODULE:NAME")
        return machines, models
    value = _attribute(name, found, attribute)
    if isinstance(value, SystemModel):
        return [], [value]
    return [load_machine(name)], []


def _models(name: str, found: Any) -> list[SystemModel]:
    from ..spec.models import SystemModel

    if not isinstance(found, (tuple, list)):
        raise UnknownName(f"{name}: MODELS is a {type(found).__name__}: write MODELS = (one, two) or (one,)")
    if strange := [m for m in found if not isinstance(m, SystemModel)]:
        raise UnknownName(f"{name}: MODELS has {strange[0]!r:.60}, which is no SystemModel: take it out")
    return list(found)


def _refuse_path(name: str) -> None:
    """A file is no module, and its name is easily given for one."""
    path, colon, attribute = name.partition(":")
    if path.endswith(".py"):
        module = ".".join(part for part in path.removesuffix(".py").split("/") if part not in ("", "."))
        raise UnknownName(f"{name}: is a file, and modules are named here: did you mean {module}{colon}{attribute}?")


def _taken_over(name: str, configuration: Any, attribute: str) -> type[Machine]:
    from ..statemachines.imported import from_transitions

    try:
        return from_transitions(configuration, "".join(p[:1].upper() + p[1:].lower() for p in attribute.split("_")))
    except ValueError as error:
        raise UnknownName(f"{name}: {error}") from error


def _module(name: str, module: str) -> ModuleType:
    """The module, whatever it does while it is imported."""
    from ..statemachines import DeclarationError
    from ..statemachines.problems import LANGUAGE

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        # A file that was just written is seen.
        importlib.invalidate_caches()
        return importlib.import_module(module)
    except (DeclarationError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: it must not end this process
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise UnknownName(f"{name}: there is no module {error.name}: run from the folder that holds it") from error
        said = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        frames = traceback.extract_tb(error.__traceback__)
        # From sys.path a module may come of another folder than this one.
        folders = tuple(os.path.dirname(f.filename) for f in frames if f.name == "<module>")
        own = [f for f in frames[1:] if f.filename.startswith(folders) and f.filename not in LANGUAGE]
        where = f" at {os.path.basename(own[-1].filename)}:{own[-1].lineno}" if own else ""
        raise UnknownName(f"{name}: {module} cannot be imported ({said}){where}: mend the module") from error


def _can_be_checked(module: ModuleType, value: Any) -> bool:
    from ..spec.models import SystemModel
    from ..statemachines import Machine
    from ..statemachines.imported import is_configuration

    if isinstance(value, type):
        return issubclass(value, Machine) and value.__module__ == module.__name__
    return isinstance(value, SystemModel) or is_configuration(value)


def _attribute(name: str, module: ModuleType, attribute: str) -> Any:
    found = getattr(module, attribute, None)
    if found is None:
        there = [n for n, value in vars(module).items() if _can_be_checked(module, value)]
        close = difflib.get_close_matches(attribute, there, 3)
        mend = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(there) or 'nothing to check'}"
        raise UnknownName(f"{name}: {module.__name__} has no {attribute}: {mend}")
    return found
