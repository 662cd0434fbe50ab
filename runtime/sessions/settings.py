"""How sessions are held."""

from __future__ import annotations

from dataclasses import dataclass

from ...statemachines.session import Rebinding


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Times are in seconds.

    `policy`: whether a session may move that was begun without saying so. `patience`: how long a turn may wait for a
    replica to be bound to; `call`: how long a turn may take in all; `store`: how long a write may take before who asked
    is told that storage is down. `ttl`: how long a session lives that nobody calls; `consumer`: how long a consumer
    lives that does not call. `id_life`: how long an issued id may be begun; `chosen_ids`: how many ids that clients
    chose are remembered as used up, before new ones are refused; `sessions`: the most that live at once. `deaths`: so
    many replicas may die under turns of one task, before the task is refused. `trees`: the most traces in memory.
    `persists`: a turn that a gate refuses for now is sent again until `call` is over, instead of being told.
    """

    policy: Rebinding = Rebinding.NEVER
    patience: float = 60.0
    call: float = 600.0
    store: float = 10.0
    ttl: float = 3600.0
    consumer: float = 600.0
    id_life: float = 24 * 3600.0
    chosen_ids: int = 1_000_000
    sessions: int = 200_000
    deaths: int = 3
    trees: int = 4096
    persists: bool = False

    def __post_init__(self) -> None:
        times = (self.patience, self.call, self.store, self.ttl, self.consumer, self.id_life)
        counts = (self.chosen_ids, self.sessions, self.deaths, self.trees)
        if min(times) <= 0 or min(counts) < 1:
            raise ValueError(f"{self}: times are above 0, counts at least 1")
