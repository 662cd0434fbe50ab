"""The extension point of a session server: somebody's code before each call and after each answer."""

from __future__ import annotations

import importlib
from typing import Any, Protocol, runtime_checkable

from ..config import ConfigError


@runtime_checkable
class Hooks(Protocol):
    """An object of a module of yours, named `module:name` in the config."""

    async def before(self, session: str, api: str, body: dict[str, Any]) -> dict[str, Any]:
        """The body that is answered, which may be another than the client's. `api` is `openai` or `anthropic`.

        An `HttpError` that it raises is what the client is answered.
        """
        ...

    async def after(self, session: str, api: str, answer: dict[str, Any]) -> None:
        """The whole answer, once it is stored, also of a stream. The client's own does not wait for it."""
        ...


class NoHooks:
    """Leaves everything as it is."""

    async def before(self, session: str, api: str, body: dict[str, Any]) -> dict[str, Any]:
        return body

    async def after(self, session: str, api: str, answer: dict[str, Any]) -> None: ...


def load(name: str) -> Hooks:
    """The hooks of this name, those that do nothing for an empty one. Raises ConfigError."""
    if not name:
        return NoHooks()
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"hooks: {name!r} cannot be loaded ({error}): give module:name of an object") from error
    hooks = found() if isinstance(found, type) else found
    if not isinstance(hooks, Hooks):
        raise ConfigError(f"hooks: {name!r} needs the async methods before and after")
    return hooks
