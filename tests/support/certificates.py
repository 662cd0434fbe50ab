"""Certificates for tests, made on the fly by the openssl command."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluicegate.protocol.access import Access
from sluicegate.protocol.roles import Role

CONTROL_TOKEN, DATA_TOKEN = "c0ntrol-" + "7" * 24, "data-" + "8" * 24
ROLES: Mapping[str, tuple[Role, ...]] = {
    "controller": (Role.CONTROL,),
    "agents": (Role.DATA,),
    "both": (Role.CONTROL, Role.DATA),
}


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as paths."""

    certificate: str
    key: str


class Authority:
    """Signs certificates in a folder; its own is `path`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self.name = folder, name
        folder.mkdir(parents=True, exist_ok=True)
        self._run(
            "req", "-x509", *_KEY, "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"
        )
        self.path = str(folder / f"{name}.pem")

    def issue(self, name: str, *, file: str = "", names: str = "DNS:localhost,IP:127.0.0.1", days: int = 2) -> Pair:
        """A certificate for the common name `name`; with 0 days it has expired a second later."""
        file = file or name
        (self._folder / f"{file}.ext").write_text(f"subjectAltName={names}\n" if names else "")
        self._run("req", *_KEY, "-subj", f"/CN={name}", "-keyout", f"{file}.key", "-out", f"{file}.csr")
        self._run(
            "x509", "-req", "-in", f"{file}.csr", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key",
            "-CAcreateserial", "-extfile", f"{file}.ext", "-days", str(days), "-out", f"{file}.pem",
        )  # fmt: skip
        return Pair(str(self._folder / f"{file}.pem"), str(self._folder / f"{file}.key"))

    def _run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True, timeout=30)


_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def write_tokens(folder: Path) -> str:
    """A tokens file with one of each role."""
    path = folder / "tokens"
    path.write_text(f"# who may what token\nruler control {CONTROL_TOKEN}\nagents data {DATA_TOKEN}\n")
    return str(path)


def write_token(folder: Path, token: str) -> str:
    """A file that holds this token alone."""
    path = folder / f"token-{len(list(folder.iterdir()))}"
    path.write_text(token + "\n")
    return str(path)


class Parties:
    """The processes of a small cluster: what a server of it goes by, and what its callers do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.other = Authority(folder), Authority(folder, "stranger")
        self.tokens = write_tokens(folder)
        self.pairs = {name: self.authority.issue(name) for name in ("worker", "nobody", *ROLES)}

    def server(self, **changes: object) -> Access:
        """By certificates and tokens."""
        own = self.pairs["worker"]
        given: dict[str, object] = {
            "certificate": own.certificate, "key": own.key, "authorities": self.authority.path, "roles": ROLES,
            "tokens": self.tokens, **changes,
        }  # fmt: skip
        return Access(**given)  # pyright: ignore[reportArgumentType]

    def caller(self, name: str, token: str = "") -> Access:
        """Somebody with the certificate of this name, and a token if one is given; no certificate for ''."""
        own = self.pairs[name] if name else Pair("", "")
        source = write_token(self.folder, token) if token else ""
        return Access(certificate=own.certificate, key=own.key, authorities=self.authority.path, token=source)
