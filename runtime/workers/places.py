"""Where a worker's config says that things lie, judged before anything is started, and without torch.

Rules of this file:

- Nothing is made here: what is judged is whether it could be.
- Every place that cannot be used is named by its key in the config, with the mend.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from ..config import ConfigError
from .config import RolloutConfig, TrainerConfig

MODEL = "config.json"
"""What a Hugging Face folder of a model has."""


def require_places(config: RolloutConfig | TrainerConfig) -> None:
    """Raises ConfigError that names every place of the config that cannot be used."""
    if problems := list(_problems(config)):
        raise ConfigError(problems)


def _problems(config: RolloutConfig | TrainerConfig) -> Iterator[str]:
    yield from _of_model(config.model)
    writes = isinstance(config, TrainerConfig)
    for key, folder, is_written in (
        ("state", config.state, True), ("manifests", config.manifests, writes), ("trace", config.trace, True),
        ("shm_root", config.shm_root, writes), ("weights.folder", config.weights.folder, writes),
    ):  # fmt: skip
        if folder is not None:
            yield from _of_folder(key, folder, is_written)


def _of_model(folder: Path) -> Iterator[str]:
    try:
        found = json.loads((folder / MODEL).read_bytes())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        yield f"model: {folder} has no {MODEL} that can be read: give the folder of a Hugging Face model"


def _of_folder(key: str, folder: Path, is_written: bool) -> Iterator[str]:
    there = folder
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    if not there.is_dir():
        yield f"{key}: {folder} is no folder, and none can be made there ({there} is none): give another path"
    elif is_written and not os.access(there, os.W_OK | os.X_OK):
        yield f"{key}: {folder} cannot be written ({there} refuses it): give a path that this user can write"
