"""Calls that are being answered: how long one goes on for which nobody listens."""

from __future__ import annotations

import asyncio

from sluicegate.runtime.serving.answering import Exchanges, Repeat
from sluicegate.runtime.serving.openai import read

ASK = read({"model": "m", "messages": [{"role": "user", "content": "ok"}]})


async def test_who_came_again_and_left_again_has_the_whole_grace_again() -> None:
    async with Exchanges(grace=0.6, remember=1) as exchanges:
        given_up = asyncio.Event()

        async def answer(_: object) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                given_up.set()

        answering = exchanges.begin(Repeat("s", "digest"), ASK, answer)
        with answering.heard():
            await asyncio.sleep(0)
        with answering.heard():
            await asyncio.sleep(0.4)
        await asyncio.sleep(0.4)
        assert exchanges.running == 1, "0.4 s after the last has left, and 0.8 s after the first"
        async with asyncio.timeout(10):
            await given_up.wait()
