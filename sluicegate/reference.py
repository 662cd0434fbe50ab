"""The pages that say what is served over HTTP and over gRPC, made from the sources that serve it."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .protocol.emitter.stubs import VIRTUAL, StubError

_MADE = "<!-- Made by `sluicegate generate` from {}; change those, not this file. -->"


def http_page() -> str:
    """The endpoints of a session server, and what refused calls are answered."""
    from .runtime.serving import app, errors, sessions_api

    endpoints = [(method, path, getattr(app.Service, name)) for method, path, _, name in app.ROUTES]
    endpoints += [(method, path, getattr(sessions_api.SessionsApi, name)) for method, path, name in sessions_api.ROUTES]
    text = [_MADE.format("`runtime/serving/`"), "# HTTP", "", "What a session server (`sluicegate serve`) answers. "]
    text[-1] += "How sessions live is in [sessions.md](sessions.md)."
    text += ["", "| endpoint | what it does |", "| --- | --- |"]
    text += [f"| `{method} {path}` | {_first(work)} |" for method, path, work in endpoints]
    text += ["", "## Refusals", "", "`code` stands in the error of OpenAI's form, and as `details.error_code` in "]
    text[-1] += "Anthropic's. What may come again has `Retry-After`; what may not has `x-should-retry: false`."
    text += ["", "| code | status | the same call again |", "| --- | --- | --- |"]
    text += [f"| `{code}` | {case.status} | {_again(case)} |" for code, case in errors.CASES.items()]
    return "\n".join(text) + "\n"


def _again(case: Any) -> str:
    if case.retry is None:
        return "no" if 400 <= case.status < 500 and case.status != 408 else "by the client's own rules"
    return "yes, after `Retry-After`" if case.retry else "no"


def grpc_page(protos: dict[str, str]) -> str:
    """The services of these proto files (name -> text). Raises StubError."""
    text = [_MADE.format("the proto files"), "# gRPC", ""]
    text.append(
        "Every service of the runtime. Those of machines are made from their tables: each changing call carries a "
        "fence (the life of the instance, term, epoch, operation id), and every answer a numbered snapshot."
    )
    for file in _described(protos):
        said = _comments(file)
        for number, service in enumerate(file.service):
            text += ["", f"## {service.name}", ""]
            if doc := said.get((6, number)):
                text += [doc, ""]
            text += ["| method | asked with | answered with | what it does |", "| --- | --- | --- | --- |"]
            for index, method in enumerate(service.method):
                asks, stream = ("a stream of " if s else "" for s in (method.client_streaming, method.server_streaming))
                asked, answer = (kind.rpartition(".")[2] for kind in (method.input_type, method.output_type))
                doc = said.get((6, number, 2, index), "")
                text.append(f"| `{method.name}` | {asks}`{asked}` | {stream}`{answer}` | {doc} |")
        fields = [row for index, message in enumerate(file.message_type) for row in _fields(message, index, said)]
        if fields:
            name = file.name.rpartition("/")[2]
            text += ["", f"### Messages of `{name}`", "", "| field | type | |", "| --- | --- | --- |"]
            text += fields
    return "\n".join(text) + "\n"


def _fields(message: Any, index: int, said: dict[tuple[int, ...], str]) -> Iterator[str]:
    maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    for number, field in enumerate(message.field):
        kind = field.type_name.rpartition(".")[2] or _SCALARS[field.type]
        if kind in maps:
            value = maps[kind].field[1]
            kind = f"map of {value.type_name.rpartition('.')[2] or _SCALARS[value.type]}"
        elif field.label == field.LABEL_REPEATED:
            kind = f"list of {kind}"
        elif field.proto3_optional:
            kind = f"{kind}, or none"
        yield f"| `{message.name}.{field.name}` | {kind} | {said.get((4, index, 2, number), '')} |"


_SCALARS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes",
            13: "uint32"}  # fmt: skip
"""Names of the types of descriptor.proto that are used."""


def _comments(file: Any) -> dict[tuple[int, ...], str]:
    return {
        tuple(place.path): " ".join(place.leading_comments.split()).replace("|", "\\|")
        for place in file.source_code_info.location
        if place.leading_comments
    }


def _described(protos: dict[str, str]) -> list[Any]:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, VIRTUAL), Path(folder, "out")
        source.mkdir(parents=True)
        for name, text in protos.items():
            (source / name).write_text(text)
        files = [f"{VIRTUAL}/{name}" for name in protos]
        flags = [f"-I{folder}", f"--descriptor_set_out={out}", "--include_source_info"]
        if protoc.main(["protoc", *flags, *files]) != 0:
            raise StubError(f"the proto compiler refused one of {', '.join(protos)}")
        return list(FileDescriptorSet.FromString(out.read_bytes()).file)


def _first(work: Any) -> str:
    """The documentation of an endpoint as one line of a table."""
    return " ".join((inspect.getdoc(work) or "").split()).replace("|", "\\|")
