"""Bearer tokens: the one that a process sends, and the file of those that a server takes.

Rules of this file:

- A server keeps digests; no error shows a word of what could be a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from .roles import Role
from .sources import AccessError, Secret, read

SHORTEST_TOKEN = 16
"""Characters that a token has at least: fewer can be guessed."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is taken, as its digest."""

    name: str
    roles: frozenset[Role]
    digest: bytes


def read_token(source: str) -> Secret:
    """The token that a source holds. Raises AccessError."""
    content = read(source, "token").reveal().strip()
    if not content.isascii() or any(byte <= 32 or byte == 127 for byte in content):
        raise AccessError(f"token {source}: is more than one word of visible ASCII: write the token alone there")
    return Secret(content)


def read_tokens(source: str, salt: bytes = b"") -> tuple[Token, ...]:
    """The tokens that a source holds: lines of a name, roles and a token; `#` begins a comment. Raises AccessError."""
    tokens: list[Token] = []
    for number, line in enumerate(read(source, "tokens").reveal().splitlines(), 1):
        if not (words := line.split()) or words[0].startswith(b"#"):
            continue
        try:
            name, roles = words[0].decode("ascii"), frozenset(Role(r) for r in words[1].decode("ascii").split(","))
            given = words[2]
            is_good = len(words) == 3 and given.isascii() and len(given) >= SHORTEST_TOKEN
        except (ValueError, IndexError):
            is_good = False
        if not is_good:
            raise AccessError(
                f"tokens {source}, line {number}: expected a name, roles (data, control or data,control) and a "
                f"token of at least {SHORTEST_TOKEN} visible ASCII characters"
            ) from None
        tokens.append(Token(name, roles, digest(given, salt)))
        if any(t.digest == tokens[-1].digest or t.name == name for t in tokens[:-1]):
            raise AccessError(f"tokens {source}, line {number}: its name or token is there twice: change one")
    return tuple(tokens)


def digest(token: bytes, salt: bytes) -> bytes:
    """What is kept of a token; `salt` is the process's own."""
    return blake2b(token, key=salt).digest()
