"""How a run ends: everything is left in its order, and what first went wrong is what is told.

Rules of this file:

- Nothing that ends a run may hide why it ended: what fails on the way down is logged behind that.
- What a killed life could not remove goes with the next one's begin.
"""

from __future__ import annotations

import logging
import shutil
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

_log = logging.getLogger(__name__)
_UNFINISHED = (".model.*", ".name.*", ".config.json.*")
"""How that is named which gets its place by a rename, once it is whole."""


class Ending(AsyncExitStack):
    """As `AsyncExitStack`, but the first error is what comes out; later ones are logged behind it."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        try:
            await super().__aexit__(kind, error, trace)
        except BaseException as later:
            if error is None:
                raise
            if later is not error:
                _log.error("behind the first failure, at the end of the run: %r", later)
        return False


def first_of(error: BaseException) -> BaseException:
    """The first error in a group of them, and itself where it is none."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def sweep(folder: Path) -> None:
    """Remove what a killed life was about to put into the run's folder. Nobody else may write there. Raises OSError."""
    for pattern in _UNFINISHED:
        for left in folder.glob(pattern):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()
