"""Where certificates and secrets come from: files and environment variables, read again once they change.

Rules of this file:

- A source is named by a text: `env:NAME` is an environment variable, anything else the path of a file.
- A content is held by what shows nothing when it is printed, formatted or copied; errors name the source
  and the line, never what is there.
- What was good stays in use when its source becomes bad; that is logged, once for each change.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)
_ENVIRONMENT = "env:"
_SUFFIXES = (".pem", ".crt", ".cer", ".key", ".token", ".tokens", ".txt")


class AccessError(Exception):
    """Certificates, keys or tokens cannot be used; says which source, why, and how to mend it."""


class Secret:
    """Bytes that are shown only to whoever asks for them by name."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        self._content = content

    def reveal(self) -> bytes:
        """The content: for the one call that needs it."""
        return self._content

    def __repr__(self) -> str:
        return "Secret(not shown)"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a secret is not copied or stored: name its source instead")


def shown(source: str) -> str:
    """A source as errors name it: what cannot be told from a secret given in its place is not shown."""
    folder, name = os.path.split(source)
    looks_like_path = "\0" not in source and (os.path.isdir(folder) if folder else name.endswith(_SUFFIXES))
    return source if looks_like_path or source.startswith(_ENVIRONMENT) else "(not shown: it looks like no path)"


def read(source: str, what: str) -> Secret:
    """The content of a source; `what` names it in errors. Raises AccessError."""
    if source.startswith(_ENVIRONMENT):
        content = os.environ.get(source.removeprefix(_ENVIRONMENT), "").encode(errors="surrogateescape")
        mend = "set that variable"
    else:
        try:
            with open(source, "rb") as file:
                content = file.read()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no path"
            text = f"{what} {shown(source)}: cannot be read ({why}): give the path of a file, or env:NAME"
            raise AccessError(text) from None
        mend = "write it there"
    if not content.strip():
        raise AccessError(f"{what} {source}: is empty: {mend}")
    return Secret(content)


class Kept(Generic[T]):
    """What `make` makes of `sources`, made again when a file of them has changed.

    `make` raises AccessError for what cannot be used: from the constructor it is raised on.
    """

    def __init__(self, sources: tuple[str, ...], make: Callable[[], T]) -> None:
        self._sources, self._make = sources, make
        self._stamp = self._look()
        self._value = make()

    def now(self) -> T:
        """As the sources are by now."""
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._value = self._make()
            except AccessError as error:
                _log.error("what was read before stays in use: %s", error)
        return self._value

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(source) for source in self._sources]


def _stamp(source: str) -> tuple[int, int, int] | None:
    if not source or source.startswith(_ENVIRONMENT):
        return None
    try:
        found = os.stat(source)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
