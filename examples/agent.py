"""An agent of your own: a plain client of OpenAI's API that talks to the replicas of a run while they are trained.

    sluicegate train examples/http.yaml
    python -m examples.agent http://127.0.0.1:8010 --turns 20

It holds one conversation, word after word, and says after each answer which weights made it: the conversation goes on
through every update of the weights between two turns, and through those that come within one. The header
`x-session-id` names the conversation; an answer's header `x-model-version` says by which version it was begun. A turn
that meets closed gates waits for them inside its call.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import time

import openai
from openai.types.chat import ChatCompletionMessageParam

LETTERS = "aeilnorst"
"""Those of the task in `examples/http.yaml`."""


def main(url: str, turns: int, pause: float, letters: str) -> int:
    session = f"mine-{secrets.token_hex(4)}"
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", default_headers={"x-session-id": session}, timeout=120)
    messages: list[ChatCompletionMessageParam] = []
    versions: list[int] = []
    for turn in range(1, turns + 1):
        word = "".join(random.choices(letters, k=4))
        messages.append({"role": "user", "content": f"{word}>"})
        try:
            raw = client.chat.completions.with_raw_response.create(model="policy", messages=messages, max_tokens=4)
        except openai.APIError as error:
            print(f"turn {turn} was not answered ({error}): begin another conversation", file=sys.stderr)
            return 1
        said = raw.parse().choices[0].message.content or ""
        versions.append(int(raw.headers["x-model-version"]))
        messages.append({"role": "assistant", "content": said})
        print(f"{session} turn {turn}: {word} -> {said!r}, by version {versions[-1]}", flush=True)
        time.sleep(pause)
    print(f"{session} lived through {versions[-1] - versions[0]} updates in {turns} turns")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="where the run says that agents of your own may call")
    parser.add_argument("--turns", type=int, default=20, help="how many turns the conversation has; 20 by default")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two turns; 1 by default")
    parser.add_argument("--letters", default=LETTERS, help="of which words are made; %(default)s by default")
    given = parser.parse_args()
    sys.exit(main(given.url, given.turns, given.pause, given.letters))
