"""A server of somebody's own under uvicorn, with the gate open for as long as the app lives: for tests that end it."""

import asyncio
import json
import socket
import sys
from pathlib import Path

import uvicorn

from sluicegate import EmbeddedGate, GateMiddleware

folder, grace = Path(sys.argv[1]), int(sys.argv[2])
port = socket.create_server(("127.0.0.1", 0))


async def install(version, manifest):
    return f"weights-{version}"


async def stream(scope, receive, send):
    """As many bytes as the request says, in pieces."""
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(int(body)):
        await asyncio.sleep(0.001)
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


gate = EmbeddedGate("replica-0", install=install, state=folder / "state")
gated = GateMiddleware(stream, gate)


async def app(scope, receive, send):
    """The gate, opened and closed by the app's lifespan."""
    if scope["type"] != "lifespan":
        await gated(scope, receive, send)
        return
    await receive()
    async with gate:
        ready = {"replica": gate.replica, "incarnation": gate.incarnation}
        ready |= {"control": gate.control, "data": gate.control, "port": port.getsockname()[1]}
        await send({"type": "lifespan.startup.complete"})
        print(json.dumps(ready), flush=True)
        await receive()
    await send({"type": "lifespan.shutdown.complete"})


uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=grace)).run([port])
