"""Digests of named tensors, equal wherever the same bytes lie: trainer or engine, CPU or GPU.

A tensor's digest is SHA-256 over its elements in row-major order, as hexadecimal. The digest
of a set is SHA-256 over one line (name, dtype, shape, tensor digest) per tensor, sorted by name, so that
tensors may be published in any order, one at a time. Tied weights count once, under their first name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

DIGEST_BYTES = 32
_SLICE_BYTES = 64 * 1024 * 1024
new_digest = hashlib.sha256
"""The one algorithm of weights and checkpoints: processors have instructions for it, the standard library uses them."""


def dtype_name(dtype: torch.dtype) -> str:
    """`torch.bfloat16` → `bfloat16`."""
    return str(dtype).removeprefix("torch.")


def raw_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of `tensor` in row-major order as a flat tensor of bytes on its device."""
    import torch

    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def published_dtype(tensor: torch.Tensor, dtype: torch.dtype) -> torch.dtype:
    """What `tensor` is published as: floating ones are cast to `dtype`, others are not."""
    return dtype if tensor.is_floating_point() else tensor.dtype


def slices(
    tensor: torch.Tensor, size: int = _SLICE_BYTES, dtype: torch.dtype | None = None
) -> Iterator[memoryview]:
    """The bytes of `tensor`, as `dtype` if one is given, in host memory, so that a GPU is read piecewise.

    A slice has whole elements and at most `size` bytes, or one element. It is valid until the next is drawn.
    """
    import torch

    flat, kind = tensor.detach().contiguous().reshape(-1), dtype or tensor.dtype
    step = max(1, size // kind.itemsize)
    for start in range(0, flat.numel(), step):
        yield flat[start : start + step].to(kind).view(torch.uint8).cpu().numpy().data


def tensor_digest(tensor: torch.Tensor) -> str:
    """The digest of one tensor's bytes; says nothing about its name, dtype or shape."""
    digest = new_digest()
    for part in slices(tensor):
        digest.update(part)
    return digest.hexdigest()


def combine(entries: Iterable[tuple[str, str, tuple[int, ...], str]]) -> str:
    """The digest of a set, from (name, dtype, shape, tensor digest) of each member."""
    digest = new_digest()
    for name, dtype, shape, content in sorted(entries):
        digest.update(f"{name!r} {dtype} {'x'.join(map(str, shape))} {content}\n".encode())
    return digest.hexdigest()


def digest_of(tensors: Mapping[str, torch.Tensor]) -> str:
    """The digest of named tensors, read from the tensors themselves."""
    return combine(
        (name, dtype_name(tensor.dtype), tuple(tensor.shape), tensor_digest(tensor)) for name, tensor in tensors.items()
    )


def canonical_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Every parameter and persistent buffer of `model`, each once: a tied one under its first name."""
    seen: set[int] = set()
    canonical: dict[str, torch.Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            canonical[name] = tensor
    return canonical


def tied_names(model: torch.nn.Module) -> dict[str, str]:
    """Each name that `canonical_tensors` leaves out → the name that stands for it."""
    first: dict[int, str] = {}
    tied: dict[str, str] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        stands = first.setdefault(id(tensor), name)
        if stands != name:
            tied[name] = stands
    return tied
