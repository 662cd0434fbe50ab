"""Published versions as safetensors files: they survive the trainer and its host, and other tools load them.

Rules of this file:

- A version's folder appears under its name only when every file in it is complete and on the disk.
- A file has tensors of one dtype, each of them whole. Its header is reserved before the tensors are known, padded
  with spaces, and written when the file is: nothing is held but names and one bucket.
- Buckets lie in the files one after another; `buckets.json` says where each begins.
- Readers copy a bucket into private memory before it is verified.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import sync, write_durably
from .layout import Layout
from .manifest import Manifest
from .mapping import OutOfReach, WeightsError
from .packing import BUCKET_BYTES, pack
from .shm import require_run, versions_in

if TYPE_CHECKING:
    import torch

SHARD_BYTES = 4 * 1024**3
HEADER_BYTES = 128 * 1024
PLACES, INDEX = "buckets.json", "model.safetensors.index.json"
_BESIDE = ("*.json", "*.txt", "*.model", "*.jinja")
_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0", "complex64": "C64",
}  # fmt: skip
"""How safetensors names a dtype of torch's."""


class FilesStore:
    """Writes versions of the weights of `run` into a folder of its own in `folder`; a WeightStore."""

    def __init__(
        self, folder: Path, run: str, *, bucket_bytes: int = BUCKET_BYTES, shard_bytes: int = SHARD_BYTES,
        model: Path | None = None,
    ) -> None:  # fmt: skip
        """`bucket_bytes`: the most that one bucket holds; `shard_bytes`: the most that one file holds, but for a
        tensor that is larger alone; `model`: a folder whose config and tokenizer are put beside the weights, so
        that each version can be loaded as a model.

        Raises ValueError for a bad run id or size.
        """
        if bucket_bytes < 1 or shard_bytes < 1:
            raise ValueError(f"bucket_bytes is {bucket_bytes}, shard_bytes is {shard_bytes}: give at least 1 each")
        self.run, self.bucket_bytes, self.folder = run, bucket_bytes, Path(folder) / require_run(run)
        self._shard_bytes, self._model = shard_bytes, model
        self.folder.mkdir(parents=True, exist_ok=True)
        # What a killed trainer left was never complete, or was being removed.
        for path in self.folder.glob("*.partial"):
            shutil.rmtree(path, ignore_errors=True)

    def publish(
        self, version: int, step: int, named_tensors: Iterable[tuple[str, torch.Tensor]], dtype: torch.dtype,
        *, frozen: Collection[str] = (), layouts: Iterable[Layout] = (),
    ) -> Manifest:  # fmt: skip
        """Writes all tensors, floating ones cast to `dtype`, and returns the manifest (not yet durable).

        The iterable is drawn one tensor at a time; a trainer may gather each one as it is asked for. `frozen`:
        names of tensors that no training changes; `layouts`: those whose ranks' digests the manifest has.
        Raises FileExistsError when the version is there already, ValueError for a dtype that safetensors does not
        have, OSError when the disk is full; then nothing of the version is left.
        """
        final = self.folder / f"v{version}"
        if final.exists():
            raise FileExistsError(f"version {version} of run {self.run!r} is already published in {final}")
        partial = final.with_name(final.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            with _Shards(partial, self._shard_bytes) as shards:
                packed = pack(named_tensors, dtype, shards, self.bucket_bytes, frozen=frozen, layouts=layouts)
                shards.complete()
            manifest = packed.manifest(version, self.run, step)
            self._put_beside(partial)
            # The last durable write has synced the folder with all its names.
            partial.rename(final)
            sync(self.folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return manifest

    def has(self, version: int) -> bool:
        """Whether the files of a version are there."""
        return (self.folder / f"v{version}").is_dir()

    def buckets(self, manifest: Manifest, start: int = 0) -> Generator[tuple[int, memoryview], None, None]:
        """As `FilesReader.buckets`."""
        return _read(self.folder / f"v{manifest.version}", manifest, start)

    def discard(self, version: int) -> None:
        """Removes a version's files; one that is not there is no error."""
        final = self.folder / f"v{version}"
        partial = final.with_name(final.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        if final.exists():
            # It is gone at once, whatever ends this process while the files are removed.
            final.rename(partial)
            shutil.rmtree(partial, ignore_errors=True)

    def published(self) -> list[int]:
        """The versions whose files are there, rising."""
        return versions_in(self.folder)

    def close(self) -> None:
        """Does nothing: files outlive the trainer."""

    def _put_beside(self, folder: Path) -> None:
        """Config and tokenizer of the model, without what describes its own weights."""
        for path in [] if self._model is None else [p for kind in _BESIDE for p in self._model.glob(kind)]:
            if not path.name.endswith(".index.json") and path.name != PLACES:
                write_durably(folder / path.name, path.read_bytes())


class FilesReader:
    """Reads the versions that a FilesStore of the same folder and run wrote; a WeightSource."""

    def __init__(self, folder: Path, run: str) -> None:
        self.folder = Path(folder) / require_run(run)

    def has(self, version: int) -> bool:
        """Whether the files of a version are there: its folder appears when all are."""
        return (self.folder / f"v{version}").is_dir()

    def buckets(self, manifest: Manifest, start: int = 0) -> Generator[tuple[int, memoryview], None, None]:
        """Each bucket's number and bytes, in order from `start`; the bytes are valid until the next is asked for.

        Raises WeightsError for a file that is missing, cut, or of another publication, OutOfReach for one that cannot
        be read.
        """
        return _read(self.folder / f"v{manifest.version}", manifest, start)


def _read(folder: Path, manifest: Manifest, start: int) -> Generator[tuple[int, memoryview], None, None]:
    places = _places(folder, manifest)
    longest = max((bucket.length for bucket in manifest.buckets), default=0)
    memory = memoryview(bytearray(longest))
    opened: dict[str, int] = {}
    try:
        for number, bucket in enumerate(manifest.buckets[start:], start):
            where, (name, offset) = f"bucket {number} of version {manifest.version}", places[number]
            view, done = memory[: bucket.length], 0
            try:
                if name not in opened:
                    opened[name] = _open(folder / name, opened)
                file = opened[name]
                # One read may stop early, at 2 GiB for instance.
                while done < bucket.length and (got := os.preadv(file, [view[done:]], offset + done)):
                    done += got
            except FileNotFoundError:
                raise WeightsError(f"{where} is missing: {folder / name} does not exist") from None
            except OSError as error:
                raise OutOfReach(f"{where} cannot be read: {folder / name}: {error.strerror}") from error
            if done != bucket.length:
                raise WeightsError(
                    f"{where} was cut: {folder / name} ends after {done} of its {bucket.length} bytes"
                )
            yield number, view
    finally:
        for file in opened.values():
            os.close(file)


def _open(path: Path, opened: dict[str, int]) -> int:
    """Buckets of a dtype lie in one file after another, so that of few a file is open at a time."""
    while len(opened) >= 8:
        os.close(opened.pop(next(iter(opened))))
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _places(folder: Path, manifest: Manifest) -> list[tuple[str, int]]:
    """The file and offset of each bucket."""
    version, path = manifest.version, folder / PLACES
    try:
        places = [(str(name), int(offset)) for name, offset in json.loads(path.read_bytes())]
    except FileNotFoundError:
        raise WeightsError(f"version {version} is missing: {path} does not exist") from None
    except OSError as error:
        raise OutOfReach(f"version {version}: {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise WeightsError(f"version {version}: {path} does not say where buckets lie ({error})") from error
    if len(places) != len(manifest.buckets):
        raise WeightsError(
            f"version {version}: {path} is of another publication: it has {len(places)} buckets, the manifest "
            f"{len(manifest.buckets)}"
        )
    for name, _ in places:
        if os.sep in name or name in ("", ".", ".."):
            raise WeightsError(f"version {version}: {path} names {name!r}, which is no file beside it")
    return places


class _Shard:
    """One safetensors file while it is written."""

    def __init__(self, path: Path, reserved: int) -> None:
        self.path, self.reserved = path, reserved
        self.entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
        self.header = len(_json(self.entries))
        self.declared = self.written = 0
        self._file = path.open("xb", buffering=0)
        self._file.seek(8 + reserved)

    def has_room(self, entry: int, nbytes: int, most: int) -> bool:
        """Whether another tensor goes into this file; a first one does in any case."""
        fits = self.header + entry <= self.reserved
        return fits and (self.declared + nbytes <= most or len(self.entries) == 1)

    def append(self, content: memoryview) -> int:
        """Where the content begins in the file."""
        begin = 8 + self.reserved + self.written
        _write(self._file, content)
        self.written += len(content)
        return begin

    def complete(self) -> None:
        header = _json(self.entries)
        self._file.seek(0)
        _write(self._file, memoryview(self.reserved.to_bytes(8, "little") + header.ljust(self.reserved)))
        os.fsync(self._file.fileno())
        self._file.close()

    def close(self) -> None:
        self._file.close()


class _Shards:
    """A sink that writes safetensors files, and what says which tensor and which bucket lies where."""

    def __init__(self, folder: Path, most: int) -> None:
        self._folder, self._most = folder, most
        self._open: dict[str, _Shard] = {}
        self._count = self._size = 0
        self._places: list[tuple[str, int]] = []
        self._files: dict[str, str] = {}

    def __enter__(self) -> _Shards:
        return self

    def __exit__(self, *error: object) -> None:
        for shard in self._open.values():
            shard.close()

    def fits(self, name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> bool:
        shard = self._open.get(dtype)
        return shard is None or shard.has_room(_entry_bytes(name), nbytes, self._most)

    def begins(self, name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> None:
        if dtype not in _NAMES:
            raise ValueError(f"{name!r} is {dtype}, which safetensors files do not have: publish it as another dtype")
        if not self.fits(name, dtype, shape, nbytes):
            self._open.pop(dtype).complete()
        shard = self._open.get(dtype)
        if shard is None:
            self._count += 1
            path = self._folder / f"model-{self._count:05d}.safetensors"
            needed = len(_json({"__metadata__": {"format": "pt"}})) + _entry_bytes(name)
            shard = self._open[dtype] = _Shard(path, max(HEADER_BYTES, -(-needed // 8) * 8))
        begin, end = shard.declared, shard.declared + nbytes
        shard.entries[name] = {"dtype": _NAMES[dtype], "shape": shape, "data_offsets": (begin, end)}
        shard.header += _entry_bytes(name)
        shard.declared = end
        self._size += nbytes
        self._files[name] = shard.path.name

    def write(self, number: int, dtype: str, content: memoryview) -> None:
        shard = self._open[dtype]
        self._places.append((shard.path.name, shard.append(content)))

    def complete(self) -> None:
        """Ends the files, and writes what says where all lies."""
        while self._open:
            self._open.popitem()[1].complete()
        write_durably(self._folder / PLACES, _json(self._places))
        index = {"metadata": {"total_size": self._size}, "weight_map": self._files}
        write_durably(self._folder / INDEX, json.dumps(index, indent=1).encode())


def _entry_bytes(name: str) -> int:
    """The most that a tensor takes in a header: its name as JSON, and numbers of up to 20 digits."""
    return len(json.dumps(name)) + 400


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _write(file: Any, content: memoryview) -> None:
    while content:
        content = content[file.write(content) :]
