"""What ranks hold of canonical tensors: shards and packed names, put in place from pieces of any size."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.runtime.weights import tensor_digest
from sluicegate.runtime.weights.digest import combine, dtype_name, raw_bytes
from sluicegate.runtime.weights.layout import Layout, Split, layout_digests, shard
from sluicegate.runtime.weights.manifest import TensorEntry
from sluicegate.runtime.weights.mapping import Holding, Pack, WeightsError

DTYPES = (torch.float32, torch.bfloat16, torch.uint8, torch.float64)


def filled(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 250, shape, generator=generator).to(dtype)


def entry_of(name: str, tensor: torch.Tensor) -> TensorEntry:
    return TensorEntry(name, dtype_name(tensor.dtype), tuple(tensor.shape), tensor_digest(tensor))


def deliver(holding: Holding, tensors: dict[str, torch.Tensor], size: int) -> None:
    """Every canonical byte, in pieces of at most `size` bytes."""
    places = holding.places(1, [entry_of(name, tensor) for name, tensor in tensors.items()])
    for place, tensor in zip(places, tensors.values(), strict=True):
        content = raw_bytes(tensor)
        for start in range(0, content.numel(), size):
            place.put(start, content[start : start + size])


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, torch.Tensor], Layout, int]:
    world = draw(st.integers(1, 4))
    tensors: dict[str, torch.Tensor] = {}
    splits: list[Split] = []
    for number in range(draw(st.integers(1, 4))):
        shape = tuple(draw(st.lists(st.integers(1, 7), min_size=0, max_size=4)))
        tensors[f"t{number}"] = filled(shape, draw(st.sampled_from(DTYPES)), number)
        if shape and draw(st.booleans()):
            parts = draw(st.sampled_from([0, *(n for n in range(1, world + 1) if world % n == 0)]))
            splits.append(Split(f"t{number}", draw(st.integers(0, len(shape) - 1)), parts))
    layout = Layout("l", tuple(f"r{n}" for n in range(world)), tuple(splits))
    return tensors, layout, draw(st.integers(1, 200))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_whatever_the_pieces_every_rank_holds_its_part_and_its_digest(case: Any) -> None:
    tensors, layout, size = case
    entries = [entry_of(name, tensor) for name, tensor in tensors.items()]
    digests = layout_digests(tensors, [layout])["l"]
    for rank in layout.ranks:
        held = {name: torch.zeros_like(shard(name, tensor, layout, rank)) for name, tensor in tensors.items()}
        held = {name: tensor.contiguous() for name, tensor in held.items()}
        holding = Holding(held, layout=layout, rank=rank)
        deliver(holding, tensors, size)
        for name, tensor in tensors.items():
            assert torch.equal(held[name], shard(name, tensor, layout, rank))
        assert holding.digest(entries) == digests[rank]


@settings(max_examples=100, deadline=None)
@given(cases())
def test_the_parts_of_all_ranks_are_the_tensor(case: Any) -> None:
    tensors, layout, _ = case
    for name, tensor in tensors.items():
        spans = [layout.span(name, tuple(tensor.shape), rank) for rank in layout.ranks]
        if spans[0] is None:
            assert spans == [None] * len(layout.ranks)
            continue
        distinct = dict.fromkeys(spans)
        union = torch.cat([tensor.narrow(s.dim, s.start, s.stop - s.start) for s in distinct if s], spans[0].dim)
        assert torch.equal(union, tensor)


QKV = (
    Pack(r"(.*)\.qkv\.(weight|bias)", (r"\1.q.\2", r"\1.k.\2", r"\1.v.\2")),
    Pack(r"(.*)\.gate_up\.weight", (r"\1.gate.weight", r"\1.up.weight")),
)
HEADS = (Split(r".*\.(q|gate|up)\..*"), Split(r".*\.[kv]\..*", parts=2), Split(r".*\.down\..*", 1))


@settings(max_examples=50, deadline=None)
@given(st.sampled_from((2, 4)), st.integers(1, 97), st.sampled_from((torch.float32, torch.bfloat16)))
def test_packed_and_sharded_parameters_are_filled_from_canonical_names(
    world: int, size: int, dtype: torch.dtype
) -> None:
    shapes = {
        "a.q.weight": (8, 3), "a.k.weight": (4, 3), "a.v.weight": (4, 3), "a.q.bias": (8,), "a.k.bias": (4,),
        "a.v.bias": (4,), "m.gate.weight": (8, 3), "m.up.weight": (8, 3), "m.down.weight": (3, 8), "norm": (3,),
    }  # fmt: skip
    tensors = {name: filled(shape, dtype, n) for n, (name, shape) in enumerate(shapes.items())}
    layout = Layout("tp", tuple(map(str, range(world))), HEADS)
    digests = layout_digests(tensors, [layout])["tp"]
    for rank in layout.ranks:
        part = {name: shard(name, tensor, layout, rank) for name, tensor in tensors.items()}
        expected = {
            "a.qkv.weight": torch.cat([part[f"a.{p}.weight"] for p in "qkv"]),
            "a.qkv.bias": torch.cat([part[f"a.{p}.bias"] for p in "qkv"]),
            "m.gate_up.weight": torch.cat([part["m.gate.weight"], part["m.up.weight"]]),
            "m.down.weight": part["m.down.weight"].contiguous(),
            "norm": part["norm"],
        }
        held = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
        holding = Holding(held, packs=QKV, layout=layout, rank=rank)
        deliver(holding, tensors, size)
        assert all(torch.equal(held[name], tensor) for name, tensor in expected.items())
        entries = [entry_of(name, tensor) for name, tensor in tensors.items()]
        assert holding.digest(entries) == digests[rank]
        assert sum(map(torch.numel, held.values())) < sum(math.prod(shape) for shape in shapes.values())


def test_a_rank_that_holds_all_has_the_digest_of_the_whole() -> None:
    tensors = {"a": filled((3, 2), torch.float32, 1), "b": filled((), torch.bfloat16, 2)}
    whole = combine((e.name, e.dtype, e.shape, e.digest) for e in (entry_of(n, t) for n, t in tensors.items()))
    assert layout_digests(tensors, [Layout("one", ("0",))]) == {"one": {"0": whole}}
    assert Holding(tensors).digest([entry_of(n, t) for n, t in tensors.items()]) == whole


@pytest.mark.parametrize(
    ("published", "said"),
    [
        ({"a": (3, 2)}, r"'b' is missing in the manifest"),
        ({"a": (3, 2), "b": (3,), "c": (1,)}, r"'c' is not a tensor .*: it is tied, publish 'a' only"),
        ({"a": (4, 2), "b": (3,)}, r"'a' has shape \(4, 2\) in the manifest, \(3, 2\) in the engine"),
        ({"a": (2, 3), "b": (3,)}, r"'a' has shape \(2, 3\) in the manifest, \(3, 2\) in the engine"),
    ],
)
def test_what_does_not_fit_is_named_before_anything_is_moved(published: dict[str, Any], said: str) -> None:
    holding = Holding({"a": torch.zeros(3, 2), "b": torch.zeros(3)}, tied={"c": "a"})
    entries = [entry_of(name, torch.zeros(shape)) for name, shape in published.items()]
    with pytest.raises(WeightsError, match=said):
        holding.places(1, entries)


def test_a_layout_that_cannot_be_is_refused_with_its_reason() -> None:
    for wrong in (
        lambda: Layout("l", ("0", "0")),
        lambda: Layout("l", ()),
        lambda: Layout("l", ("0", "1", "2"), (Split("k", parts=2),)),
        lambda: Split("("),
        lambda: Split("a", -1),
        lambda: Layout("l", ("0", "1"), (Split("a", 2),)).span("a", (4, 4), "0"),
        lambda: Layout("l", ("0", "1")).span("a", (4, 4), "2"),
    ):
        with pytest.raises(ValueError, match=r"layout 'l'|pattern|dim is"):
            wrong()
