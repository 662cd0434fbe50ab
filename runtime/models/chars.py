"""A tokenizer of single characters: special tokens, then a fixed alphabet, saved as one JSON file.

Ids are positions: the special tokens first, then the alphabet in its order, so that equal files give
equal ids for ever. Text outside the alphabet is an error, never an unknown token: a task that writes
such text would otherwise train on prompts that it did not mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ..files import write_durably

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz +-*/=?!.,:;<>()[]_#|\n"
SPECIALS = ("<pad>", "<bos>", "<eos>", "<user>", "<assistant>")
FILE_NAME = "char_tokenizer.json"


class CharTokenizer:
    """Text to ids and back, one id per character.

    `pad_id`, `bos_id`, `eos_id`, `user_id` and `assistant_id` are the special tokens; they have no
    spelling in text, so no user's text can forge one.
    """

    def __init__(self, alphabet: str = ALPHABET) -> None:
        """`alphabet`: every character once, in the order of their ids. Raises ValueError on a repeat."""
        repeated = sorted({c for c in alphabet if alphabet.count(c) > 1})
        if repeated:
            raise ValueError(f"the alphabet repeats {repeated}: list every character once")
        self.alphabet = alphabet
        self.pad_id, self.bos_id, self.eos_id, self.user_id, self.assistant_id = range(len(SPECIALS))
        self._ids = {char: number + len(SPECIALS) for number, char in enumerate(alphabet)}
        self._pieces = (*SPECIALS, *alphabet)

    @property
    def vocab_size(self) -> int:
        """Number of ids, special tokens included."""
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without special tokens. Raises ValueError outside the alphabet."""
        try:
            return [self._ids[char] for char in text]
        except KeyError as missing:
            char = missing.args[0]
            raise ValueError(
                f"{char!r} at position {text.index(char)} is not in the alphabet {self.alphabet!r}"
            ) from None

    def decode(self, ids: Iterable[int], *, specials: bool = False) -> str:
        """The text of `ids`; special tokens are left out, or shown as `<eos>` and so on.

        Raises ValueError for an id that the tokenizer does not have.
        """
        pieces: list[str] = []
        for token in ids:
            if not 0 <= token < len(self._pieces):
                raise ValueError(f"token id {token} is outside 0..{len(self._pieces) - 1}")
            if specials or token >= len(SPECIALS):
                pieces.append(self._pieces[token])
        return "".join(pieces)

    def save(self, folder: Path) -> Path:
        """Writes the tokenizer's file into `folder`, durably, and returns its path."""
        path = Path(folder) / FILE_NAME
        content = {"kind": "characters", "specials": list(SPECIALS), "alphabet": self.alphabet}
        write_durably(path, json.dumps(content, indent=1).encode())
        return path

    @classmethod
    def load(cls, folder: Path) -> CharTokenizer:
        """Reads what `save` wrote.

        Raises FileNotFoundError where there is none, ValueError when it is not such a tokenizer.
        """
        path = Path(folder) / FILE_NAME
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist: save the tokenizer beside the model first")
        try:
            content = json.loads(path.read_text())
            kind, specials, alphabet = content["kind"], tuple(content["specials"]), content["alphabet"]
        except (json.JSONDecodeError, KeyError, TypeError) as problem:
            raise ValueError(f"{path} is not a character tokenizer: {problem!r}") from problem
        if kind != "characters" or specials != SPECIALS:
            raise ValueError(f"{path} holds a tokenizer of kind {kind!r} with special tokens {specials}")
        return cls(alphabet)
