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
        token = _token(words, salt)
        if token is None:
            raise AccessError(
                f"tokens {source}, line {number}: expected a name, roles (data, control or data,control) and a "
                f"token of at least {SHORTEST_TOKEN} visible ASCII characters"
            )
        if any(t.digest == token.digest or t.name == token.name for t in tokens):
            raise AccessError(f"tokens {source}, line {number}: its name or token is there twice: change one")
        tokens.append(token)
    return tuple(tokens)


def _token(words: list[bytes], salt: bytes) -> Token | None:
    """What a line says; None where it is not one."""
    if len(words) != 3 or not all(word.isascii() for word in words) or len(words[2]) < SHORTEST_TOKEN:
        return None
    name, roles, given = words
    try:
        return Token(name.decode(), frozenset(Role(role) for role in roles.decode().split(",")), digest(given, salt))
    except ValueError:
        return None


def digest(token: bytes, salt: bytes) -> bytes:
    """What is kept of a token; `salt` is the process's own."""
    return blake2b(token, key=salt).digest()
