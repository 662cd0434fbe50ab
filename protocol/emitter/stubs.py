"""Python stubs of proto files, made by the compiler that comes with grpcio-tools.

Rules of this file:

- Imports between the made modules are relative, so that they work in whichever package they stand.
- A file is registered under its virtual path `sluicegate/v1/<name>.proto`, wherever it lies.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path

VIRTUAL = "sluicegate/v1"


class StubError(Exception):
    """The proto compiler refused a file; carries what it said."""


def stubs(protos: dict[str, str], header: str) -> dict[str, str]:
    """The modules of proto files: {"gate.proto": text} -> {"gate_pb2.py": text, ...}.

    Raises StubError with the compiler's words.
    """
    from grpc_tools import protoc

    made: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in", VIRTUAL), Path(folder, "out")
        source.mkdir(parents=True)
        out.mkdir()
        for name, text in protos.items():
            (source / name).write_text(text)
        kinds = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        files = [f"{VIRTUAL}/{name}" for name in protos]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = protoc.main(["protoc", f"-I{source.parent.parent}", *kinds, *files])
        if status != 0:
            raise StubError(f"the proto compiler refused {', '.join(protos)} ({said.getvalue().strip() or status})")
        for path in sorted((out / VIRTUAL).iterdir()):
            text = re.sub(r"^from sluicegate\.v1 import ", "from . import ", path.read_text(), flags=re.MULTILINE)
            made[path.name] = f"# {header}\n{text}"
    return made
