"""`sluicegate serve`: the server that agents talk to, in front of inference servers or of a run's rollout workers."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HELP = "serve agents over HTTP: sessions, gates and traces in front of OpenAI-compatible servers, or of a run's workers"
EXAMPLE = "sluicegate serve --upstream http://127.0.0.1:8000 --upstream http://127.0.0.1:8001 --state serve"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kind = parser.add_argument_group("what is served").add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--upstream", action="append", default=[], metavar="URL",
        help="an OpenAI-compatible server, given once for each",
    )  # fmt: skip
    kind.add_argument("--config", type=Path, metavar="FILE", help="a JSON file with the keys of SessionsConfig")
    add = parser.add_argument_group("in front of upstreams").add_argument
    add("--state", type=Path, metavar="DIR", help="the folder of all that is to outlive this process")
    add("--address", default="127.0.0.1", help="where agents call, 127.0.0.1 if not given")
    add("--port", type=int, default=0, help="of the HTTP server, one from the system if not given")
    add("--control-port", type=int, default=0, help="where trainers call, one from the system if not given")
    add("--name", default="sessions-0", help="of the server: its next life goes on with its sessions")
    add("--mode", choices=("wait", "abort"), default="wait", help="what becomes of running requests in a window")
    add("--deadline", type=float, default=600.0, metavar="SECONDS", help="how long a window may take, 600 if not given")
    add("--token-ids", action="store_true", help="ask for token ids, as vLLM gives them: traces are then exact")
    add("--inject", action="store_true", help="the upstreams take request_id in the body, as vLLM does")
    add("--upstream-key-env", default="", metavar="NAME", help="environment variable with the upstreams' bearer token")
    add("--read", type=float, default=300.0, metavar="SECONDS", help="how long an upstream may say nothing")
    add("--tokens", default="", metavar="FILE", help="bearer tokens of agents and trainers (docs/access.md)")
    add("--certificate", default="", metavar="FILE", help="PEM chain of the HTTP server, with --key")
    add("--key", default="", metavar="FILE", help="its private key")
    add("--access", type=Path, metavar="FILE", help="certificate, key, tokens of the control port, as JSON")
    add("--metrics-port", type=int, metavar="PORT", help="serve metrics there, 0 for one from the system")
    add("--log", choices=("text", "json"), default="text", help="json: one object a line")
    add("--trace", type=Path, metavar="DIR", help="write what every machine does there, for sluicegate trace")


def run(args: argparse.Namespace) -> int:
    from ..protocol.server import ServerError
    from ..protocol.sources import AccessError
    from ..protocol.store import StoreError
    from ..runtime.config import ConfigError

    try:
        serve = _upstreams(args) if args.upstream else _sessions(args.config)
        asyncio.run(serve(_announce))
    except (ConfigError, ValueError, AccessError, ServerError, StoreError) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    return 0


Serve = Callable[[Callable[[dict[str, Any]], None]], Any]


def _upstreams(args: argparse.Namespace) -> Serve:
    from ..protocol.access import Access, acting_as, check
    from ..runtime.config import ConfigError, read_config
    from ..runtime.relay.config import RelayConfig
    from ..runtime.relay.process import run as relay
    from ..runtime.serving.config import HttpSettings
    from ..runtime.watching.settings import Watching
    from ..statemachines.sorts import Mode

    if args.state is None:
        raise ConfigError("--state is missing: give a folder for what is to outlive this process")
    ours = ("register.db", "serve.lock")
    if args.state.is_dir() and any(args.state.iterdir()) and not any((args.state / name).exists() for name in ours):
        raise ConfigError(f"--state {args.state}: holds other things: give a folder of its own, which is made")
    access = Access() if args.access is None else read_config(Access, args.access)
    check(access)
    http = HttpSettings(
        address=args.address, port=args.port, tokens=args.tokens, certificate=args.certificate, key=args.key
    )
    config = RelayConfig(
        upstreams=tuple(args.upstream), state=args.state, name=args.name, mode=Mode(args.mode), http=http,
        token_ids=args.token_ids, injects=args.inject, key_env=args.upstream_key_env, read=args.read,
        deadline=args.deadline, control_port=args.control_port, trace=args.trace, access=access,
        watching=Watching(log=args.log, metrics_port=args.metrics_port),
    )  # fmt: skip

    async def serve(announce: Callable[[dict[str, Any]], None]) -> None:
        with acting_as(config.access):
            await relay(config, announce)

    return serve


def _sessions(path: Path) -> Serve:
    from ..protocol.access import acting_as, check
    from ..runtime.config import read_config
    from ..runtime.serving.config import SessionsConfig
    from ..runtime.serving.process import run as sessions
    from ..runtime.watching.settings import watching

    config = read_config(SessionsConfig, path)
    check(config.access)

    async def serve(announce: Callable[[dict[str, Any]], None]) -> None:
        with (
            acting_as(config.access),
            watching(config.watching, run=config.run, process="sessions", incarnation=config.incarnation),
        ):
            await sessions(config, announce)

    return serve


def _announce(facts: dict[str, Any]) -> None:
    lines = [f"serving {facts['url']} (agents: base_url={facts['url']}/v1)"]
    lines += [f"  {name}: {url}" for name, url in facts.get("upstreams", {}).items()]
    if facts["control"]:
        lines.append(f"  trainers and sluicegate status: {facts['control']}")
    if "metrics" in facts:
        lines.insert(1, f"  metrics: {facts['metrics']}")
    print("\n".join(lines), flush=True)
