"""How the ranks of a trainer find each other: each leaves where it serves in the store of their process group."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from ..training.agreement import GroupError


def meet(rank: int, world: int, facts: dict[str, Any], within: float) -> list[dict[str, Any]]:
    """Leave this rank's facts; the first rank is given those of all, in order, and waits `within` seconds for them.

    Raises GroupError when a rank has left none by then.
    """
    if world == 1:
        return [facts]
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import _get_default_store

    store = dist.PrefixStore("served", _get_default_store())  # pyright: ignore[reportPrivateImportUsage]
    store.set(str(rank), json.dumps(facts))
    if rank > 0:
        return []
    keys = [str(number) for number in range(world)]
    try:
        store.wait(keys, timedelta(seconds=within))
        return [json.loads(content) for content in store.multi_get(keys)]
    except dist.DistStoreError as error:
        raise GroupError(f"not every rank serves within {within:g} s ({error}): see the log of the trainer") from error
