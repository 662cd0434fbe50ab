"""The manifest of one version of the weights: what was published, in which buckets, with which digests.

Rules of this file: a manifest is complete or it is refused (every tensor covered by its pieces exactly
once, every bucket as long as its pieces); it is durable before anything is installed from it; a version
number is used once, so a store never replaces a manifest by another of the same version.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..files import write_durably
from .digest import DIGEST_BYTES, combine, new_digest

FORMAT = 2
_NAME = re.compile(r"v([0-9]+)\.json")
_HEX = re.compile(rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}")


class ManifestError(ValueError):
    """A manifest that is cut, altered, incomplete or of another format."""


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One published tensor as it was cast; `digest` is that of its bytes, `frozen` that no training changes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    frozen: bool = False

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * itemsize(self.dtype)


@dataclass(frozen=True, slots=True)
class Piece:
    """`length` bytes of tensor number `tensor`, from its byte `offset`."""

    tensor: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """One unit of transport: the bytes of its pieces one after another, and the digest of them all."""

    dtype: str
    length: int
    digest: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One publication of weights. `step` is the training step that made it, `run` the run's id.

    `layouts`: of each declared tensor-parallel layout by name, the digest that each of its ranks must hold.
    """

    version: int
    run: str
    step: int
    tensors: tuple[TensorEntry, ...]
    buckets: tuple[Bucket, ...]
    digest: str = field(init=False)
    layouts: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "digest", combine((t.name, t.dtype, t.shape, t.digest) for t in self.tensors))

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(tensor.nbytes for tensor in self.tensors)

    def rank_digests(self, ranks: Iterable[str]) -> dict[str, str]:
        """What each rank must answer after an install.

        Ranks that are exactly those of a layout hold its shards, any others all tensors each.
        """
        ranks = list(ranks)
        for digests in self.layouts.values():
            if digests.keys() == set(ranks):
                return dict(digests)
        return {rank: self.digest for rank in ranks}

    def to_json(self) -> bytes:
        """The manifest as JSON, with a check over its own content."""
        body = {"format": FORMAT, **asdict(self)}
        return json.dumps({**body, "check": _content_check(body)}, indent=1).encode()

    @classmethod
    def from_json(cls, text: bytes | str, where: str = "manifest") -> Manifest:
        """Reads `to_json`. Raises ManifestError, which names `where`, for anything else."""
        try:
            body = json.loads(text)
            if not isinstance(body, dict) or body.get("format") != FORMAT:
                raise ManifestError(f"{where} is not a weights manifest of format {FORMAT}")
            check, found = body.pop("check", None), _content_check(body)
        except ManifestError:
            raise
        except (ValueError, RecursionError) as problem:
            raise ManifestError(f"{where} is cut or not JSON: {problem}") from problem
        if check != found:
            raise ManifestError(f"{where} was altered after it was written: its check does not match")
        try:
            manifest = cls(
                version=body["version"],
                run=body["run"],
                step=body["step"],
                tensors=tuple(TensorEntry(**{**t, "shape": tuple(t["shape"])}) for t in body["tensors"]),
                buckets=tuple(
                    Bucket(**{**b, "pieces": tuple(Piece(**p) for p in b["pieces"])}) for b in body["buckets"]
                ),
                # Manifests of before there were layouts lack the key.
                layouts={name: dict(digests) for name, digests in body.get("layouts", {}).items()},
            )
            digest = body["digest"]
        except ManifestError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise ManifestError(f"{where} lacks or has extra keys: {problem}") from problem
        if manifest.digest != digest:
            raise ManifestError(f"{where}: the digest of the whole does not follow from its tensors")
        return manifest


class ManifestStore:
    """The durable manifests of one run, a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def put(self, manifest: Manifest) -> Path:
        """Writes durably; the same manifest again changes nothing.

        Raises ManifestError when the version is already used by another manifest, or what lies there cannot be read;
        OSError when the disk refuses.
        """
        path = self._path(manifest.version)
        content = manifest.to_json()
        if (there := _read(path)) is not None:
            if there != content:
                raise ManifestError(
                    f"version {manifest.version} is already used by {path}: number above every manifest"
                )
            return path
        write_durably(path, content)
        return path

    def get(self, version: int) -> Manifest:
        """Raises FileNotFoundError, or ManifestError where the file is damaged, cannot be read, or is of another."""
        path = self._path(version)
        if (content := _read(path)) is None:
            raise FileNotFoundError(f"version {version} has no manifest in {self.folder}")
        manifest = Manifest.from_json(content, str(path))
        if manifest.version != version:
            raise ManifestError(f"{path} is the manifest of version {manifest.version}: it was moved here")
        return manifest

    def versions(self) -> list[int]:
        """The versions that have a durable manifest, rising; what has another name is none."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []
        # Not by paths: each would be interned and let go again, and the interpreter's table of names grows by that.
        found = ((name, match[1]) for name in names if (match := _NAME.fullmatch(name)))
        return sorted(version for name, digits in found if name == _name(version := int(digits)))

    def prune(self, *, published: int, oldest: int, named: Iterable[int] = ()) -> list[int]:
        """Removes the manifests of versions below `oldest`, but for those in `named`; the versions that went.

        Never the published one, nor one that is newer. Raises OSError.
        """
        kept = set(named)
        gone = [version for version in self.versions() if version < min(oldest, published) and version not in kept]
        for version in gone:
            self._path(version).unlink(missing_ok=True)
        return gone

    def _path(self, version: int) -> Path:
        return self.folder / _name(version)


def _name(version: int) -> str:
    return f"v{version:06d}.json"


def _read(path: Path) -> bytes | None:
    """The file's content, None where there is none. Raises ManifestError where it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ManifestError(f"{path} cannot be read ({problem.strerror}): remove it, or make it readable") from problem


_ITEMSIZE = {
    "bool": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8,
    "float8_e4m3fn": 1, "float8_e4m3fnuz": 1, "float8_e5m2": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
    "float4_e2m1fn_x2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "complex32": 4, "complex64": 8, "complex128": 16,
}  # fmt: skip
"""Bytes of an element by the name of its dtype. Written out: who reads a manifest needs no torch."""


FLOATING = frozenset(name for name in _ITEMSIZE if name.startswith(("float", "bfloat")) and "_x2" not in name)
"""Names of the dtypes that weights can be cast to."""


def itemsize(dtype: str) -> int:
    """Bytes of an element: `bfloat16` → 2. Raises ManifestError for a name that is no dtype of torch's."""
    if dtype not in _ITEMSIZE:
        raise ManifestError(f"{dtype!r} is not a torch dtype")
    return _ITEMSIZE[dtype]


def _content_check(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return new_digest(text.encode()).hexdigest()


def _check(manifest: Manifest) -> None:
    where = f"manifest of version {manifest.version}"
    if manifest.version < 0 or manifest.step < 0:
        raise ManifestError(f"{where}: version and step must not be negative, step is {manifest.step}")
    names = [tensor.name for tensor in manifest.tensors]
    if len(set(names)) != len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise ManifestError(f"{where} repeats the tensors {repeated}")
    held = [digest for digests in manifest.layouts.values() for digest in digests.values()]
    for digest in (*(thing.digest for thing in (*manifest.tensors, *manifest.buckets)), *held):
        if not _HEX.fullmatch(digest):
            raise ManifestError(f"{where}: {digest!r} is not a digest of {DIGEST_BYTES} bytes")
    ranks = [frozenset(digests) for digests in manifest.layouts.values()]
    if len(set(ranks)) != len(ranks) or frozenset() in ranks:
        raise ManifestError(f"{where}: layouts {sorted(manifest.layouts)} have no ranks, or the same: name them apart")
    covered: list[list[Piece]] = [[] for _ in names]
    for number, bucket in enumerate(manifest.buckets):
        if sum(piece.length for piece in bucket.pieces) != bucket.length:
            raise ManifestError(f"{where}: bucket {number} is not as long as its pieces")
        for piece in bucket.pieces:
            if not 0 <= piece.tensor < len(names):
                raise ManifestError(f"{where}: bucket {number} names tensor {piece.tensor}, there is none")
            if manifest.tensors[piece.tensor].dtype != bucket.dtype:
                raise ManifestError(f"{where}: bucket {number} mixes dtypes")
            covered[piece.tensor].append(piece)
    for tensor, pieces in zip(manifest.tensors, covered, strict=True):
        end = 0
        for piece in sorted(pieces, key=lambda piece: piece.offset):
            if piece.offset != end or piece.length <= 0:
                raise ManifestError(f"{where}: the pieces of {tensor.name!r} overlap or leave a gap at {end}")
            end += piece.length
        if end != tensor.nbytes:
            raise ManifestError(f"{where}: {tensor.name!r} has {end} of {tensor.nbytes} bytes in buckets")
