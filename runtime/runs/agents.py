"""What lives in the agents' thread: sessions over the run's replicas, whoever converses, production, the HTTP server.

Rules of this file:

- Everything here is made, used and left in the loop of that thread; the run asks it, and shares only the groups.
- What an earlier life left in flight is retired: it is begun again, under other ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from ...protocol.sqlite import SqliteStore
from ...protocol.tasks import Tasks
from ..chat.template import Template
from ..controller.roster import Roster
from ..models import CharTokenizer
from ..production.agent import Agent, DirectAgent
from ..production.attempts import CONSUMER, Attempts
from ..production.evaluation import Evaluation
from ..production.groups import Groups
from ..production.production import Production
from ..production.sampler import Sampler
from ..production.staleness import Staleness
from ..production.turns import Turns
from ..sessions import Prompt, Router, Sessions, SessionSettings, Workers
from ..sessions.following import FollowedCohort
from ..tasks import Task
from ..tracelog import TraceLog
from ..weights import ManifestStore
from .config import RunConfig
from .processes import Places

SERVER = "agents"
"""The name of the run's session server: its next life goes on with the same sessions."""
CLOSE_S = 5.0
"""How long what runs may take to end once it is cancelled."""


@dataclass(frozen=True, slots=True)
class Producing:
    """What the run asks for. `url` is where agents of somebody's own may call, empty without HTTP."""

    production: Production
    evaluation: Evaluation
    attempts: Attempts
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsOf:
    """What the agents of one life of a run are made from; `life` names it, and `published` is the served version."""

    config: RunConfig
    places: Places
    name: str
    life: str
    log: TraceLog
    task: Task
    tokenizer: CharTokenizer
    groups: Groups
    sampler: Sampler
    turns: Turns
    published: Callable[[], int]

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Producing]:
        """Sessions, agents and production, from here on until it is left. Raises what ended production."""
        config, training = self.config, self.config.training
        async with AsyncExitStack() as stack:
            roster = stack.enter_context(Roster(self.places.register, looks=True))
            store = stack.enter_context(contextlib.closing(SqliteStore(self.places.state("sessions.db"))))
            sessions = Sessions(store, server=SERVER, incarnation=self.life, settings=self._settings, log=self.log)
            await stack.enter_async_context(sessions)
            cohort = await stack.enter_async_context(FollowedCohort(roster, sessions.lose))
            router: Router[Prompt] = await stack.enter_async_context(Router(sessions, cohort, Workers()))
            await sessions.consumer_lost(CONSUMER)
            await sessions.retire_all(list(sessions.facts))
            url = await self._served(roster, store, cohort, router, stack)
            attempts = Attempts(
                sessions, await self._agent(router, url, stack), self.task, self.sampler, size=training.group_size,
                seed=config.seed, life=self.life,
            )  # fmt: skip
            evaluate = config.evaluate
            evaluation = Evaluation(
                attempts, every=evaluate.every, prompts=evaluate.prompts, at_once=evaluate.at_once
            )
            manifests = ManifestStore(self.places.manifests)
            staleness = Staleness(manifests, training.max_staleness, training.beyond_staleness)
            production = Production(
                self.groups, attempts, in_flight=config.agents.in_flight, waiting=config.agents.waiting,
                order=config.agents.order, staleness=staleness, published=self.published,
            )  # fmt: skip
            made = Producing(production, evaluation, attempts, url)
            await stack.enter_async_context(_going(production))
            yield made

    # -- inside ----------------------------------------------------------------------------------

    @property
    def _settings(self) -> SessionSettings:
        turn_s = self.config.agents.turn_s
        return SessionSettings(patience=turn_s, call=turn_s, persists=True)

    async def _agent(self, router: Router[Prompt], url: str, stack: AsyncExitStack) -> Agent:
        temperature = self.config.training.temperature
        if self.config.agents.kind == "direct":
            return DirectAgent(router, self.tokenizer, temperature=temperature, turns=self.turns)
        from ..production.http_agent import HttpAgent

        agent = HttpAgent(url, temperature=temperature, turns=self.turns, within=self.config.agents.turn_s)
        return await stack.enter_async_context(agent)

    async def _served(
        self, roster: Roster, store: SqliteStore, cohort: FollowedCohort, router: Router[Prompt], stack: AsyncExitStack
    ) -> str:
        """The URL of the run's HTTP server, where it has one."""
        if self.config.http is None:
            return ""
        from ..serving.config import HttpSettings, SessionsConfig
        from ..serving.exact import Exact
        from ..serving.process import answering, context_of

        model = self.places.model
        served = SessionsConfig(
            name=SERVER, run=self.name, register=self.places.register, store=store.path, model=model,
            incarnation=self.life, sessions=self._settings, http=HttpSettings(port=self.config.http.port),
            access=self.config.access,
        )  # fmt: skip
        tier = Exact(router, Template.load(model), context=context_of(model), model=model.name)
        return await stack.enter_async_context(answering(served, self.life, roster, store, cohort, router, tier))


@asynccontextmanager
async def _going(production: Production) -> AsyncIterator[None]:
    """Production runs inside; what runs is cancelled and drained at the end."""
    async with Tasks() as tasks:
        tasks.create_task(production.run())
        try:
            yield
        finally:
            await production.close(CLOSE_S)
