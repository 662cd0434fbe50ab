"""Server-sent events: read the same wherever the bytes are cut, and as the official client reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._streaming import SSEDecoder

from sluicegate.runtime.serving.sse import Event, Parser, TooLarge, encode

STREAM = (
    "\ufeffevent: message_start\r\ndata: {\"a\": 1}\r\n\r\n"
    ": a comment\ndata: one\ndata:two\ndata\ndata:  three\nid: 7\nretry: 10\n\n"
    "\n\nevent: nothing\n\n"
    "event: ends\rdata: é✓\r\r"
    "data: [DONE]\n\ndata: never ended"
).encode()  # fmt: skip
EVENTS = [
    Event("message_start", b'{"a": 1}'),
    Event("", b"one\ntwo\n\n three"),
    Event("ends", "é✓".encode()),
    Event("", b"[DONE]"),
]


def test_events_are_the_same_wherever_the_bytes_are_cut() -> None:
    for cut in range(len(STREAM) + 1):
        parser = Parser()
        assert parser.feed(STREAM[:cut]) + parser.feed(STREAM[cut:]) == EVENTS, cut
    parser = Parser()
    assert [e for i in range(len(STREAM)) for e in parser.feed(STREAM[i : i + 1])] == EVENTS


LINES = st.sampled_from(
    [b"data: a", b"data:b", b"data", b"data:  c", b"data: \xc3\xa9", b"event: e", b"event", b": no", b"x: y", b""]
)


@given(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))), st.lists(st.integers(1, 7), min_size=1))
def test_events_are_those_that_the_official_client_reads(lines: list[tuple[bytes, bytes]], sizes: list[int]) -> None:
    # The end of the last event is there in every way of ending lines.
    stream = b"".join(line + end for line, end in lines) + b"\n\n"
    parser, found, at = Parser(), list[Event](), 0
    while at < len(stream):
        size = sizes[at % len(sizes)]
        found += parser.feed(stream[at : at + size])
        at += size
    # The client tells events without data too, which the format has none of.
    wanted = [Event(e.event or "", e.data.encode()) for e in SSEDecoder().iter_bytes(iter([stream]))]
    assert [e for e in found if e.data] == [e for e in wanted if e.data]


@given(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), st.sampled_from(["", "ping"]))
def test_what_is_written_is_read(data: str, name: str) -> None:
    assert Parser().feed(encode(data.encode(), name)) == [Event(name, data.encode())]


def test_an_event_that_grows_without_an_end_is_refused_however_it_comes() -> None:
    for line in (b"x", b"data: x\n", b": comment\n"):
        parser = Parser(limit=100)
        with pytest.raises(TooLarge, match="100 bytes"):
            [parser.feed(line) for _ in range(1000)]
    # The bound is one event's, not that of the stream.
    parser = Parser(limit=100)
    assert all(parser.feed(encode(b"x" * 80)) == [Event("", b"x" * 80)] for _ in range(10))
