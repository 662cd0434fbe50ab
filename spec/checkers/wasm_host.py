"""The process that runs tla-checker's wasm file: calls in, one JSON line each; answers out, likewise.

Run as `python wasm_host.py FILE BYTES`, with the bytes of memory that the module may have. It imports
nothing of ours, so that it starts fast, and ends when its input does.

Rules of this file:

- A call is `[function, argument, ...]`; an answer is `{"answer": text}`, or `{"trap": text, "used": bytes}`.
- It is ended from outside, by its end as a process: a module that can be interrupted from within is
  made of code that takes half as long again.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import Any

import wasmtime


def engine() -> wasmtime.Engine:
    """An engine that keeps its machine code in the user's cache, where there can be one."""
    settings = wasmtime.Config()
    try:
        settings.cache = True
    except wasmtime.WasmtimeError:
        settings = wasmtime.Config()
    return wasmtime.Engine(settings)


class Host:
    """One instance of the wasm module."""

    def __init__(self, file: str, memory: int) -> None:
        made = engine()
        self.store = wasmtime.Store(made)
        self.store.set_limits(memory_size=memory)
        self.exports: Any = wasmtime.Instance(self.store, wasmtime.Module.from_file(made, file), []).exports(self.store)

    def call(self, function: str, *args: str | int | bool) -> str:
        """Call a function as wasm-bindgen does: texts are written to the module's memory, and so is the answer."""
        store, wasm = self.store, self.exports
        top = wasm["__wbindgen_add_to_stack_pointer"](store, -16)
        flat: list[int] = []
        for arg in args:
            if isinstance(arg, str):
                data = arg.encode()
                at = wasm["__wbindgen_export"](store, len(data), 1)
                wasm["memory"].write(store, data, at)
                flat += [at, len(data)]
            else:
                flat.append(int(arg))
        wasm[function](store, top, *flat)
        pair = bytes(wasm["memory"].read(store, top, top + 8))
        at, size = int.from_bytes(pair[:4], "little"), int.from_bytes(pair[4:], "little")
        answer = bytes(wasm["memory"].read(store, at, at + size)).decode()
        wasm["__wbindgen_add_to_stack_pointer"](store, 16)
        wasm["__wbindgen_export3"](store, at, size, 1)
        return answer

    def answer(self, line: str) -> dict[str, Any]:
        try:
            return {"answer": self.call(*json.loads(line))}
        except wasmtime.Trap as trap:
            return {"trap": str(trap), "used": self.exports["memory"].data_len(self.store)}


def main() -> None:
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            calls.put(line)
        # Whoever asked is gone: nobody waits for the call that runs.
        os._exit(0)

    host = Host(sys.argv[1], int(sys.argv[2]))
    threading.Thread(target=listen, daemon=True).start()
    while True:
        print(json.dumps(host.answer(calls.get())), flush=True)


if __name__ == "__main__":
    main()
