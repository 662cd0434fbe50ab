"""Settings of access: what cannot be used is said, with its source, and no secret is ever shown."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from certificates import CONTROL_TOKEN, DATA_TOKEN, Authority, Parties, write_token
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocol.access import ACCESS, Access, acting_as, channel_credentials, check, server_credentials
from sluicegate.protocol.roles import Role
from sluicegate.protocol.server import Server, ServerError
from sluicegate.protocol.sources import AccessError, Secret, read
from sluicegate.protocol.tokens import Token, read_token, read_tokens
from sluicegate.runtime.config import as_json, from_mapping


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Parties:
    return Parties(tmp_path_factory.mktemp("parties"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"certificate": "c.pem"}, "certificate and key are given together"),
        ({"key": "k.pem"}, "certificate and key are given together"),
        ({"roles": {"a": (Role.DATA,)}}, "roles of certificates need certificate, key and authorities"),
        ({"certificate": "c", "key": "k", "roles": {"a": (Role.DATA,)}}, "roles of certificates need"),
        ({"tokens": "t"}, "tokens are read by everybody on the way"),
        ({"token": "t"}, "give authorities"),
        ({"certificate": "c", "key": "k", "authorities": "a", "roles": {"a": ()}}, "at least one of data, control"),
        ({"certificate": "c", "key": "k", "authorities": "a", "roles": {"": (Role.DATA,)}}, "each name"),
        ({"message_bytes": 0}, "above 0"),
        ({"streams": -1}, "above 0"),
        ({"calls_per_client": 0}, "above 0"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Access(**given)


def test_settings_come_from_a_config_and_go_into_one(parties: Parties) -> None:
    access = parties.server(calls_per_client=7)
    mapping = json.loads(json.dumps(as_json(access)))
    assert mapping["roles"]["agents"] == ["data"]
    assert from_mapping(Access, mapping, "here") == access


def test_nothing_that_prints_copies_or_stores_shows_a_secret() -> None:
    secret = Secret(b"hush-hush")
    shown = [repr(secret), str(secret), f"{secret}", f"{secret!r}", f"{[secret]}", "%s" % (secret,)]  # noqa: UP031
    assert not any("hush" in text for text in shown)
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not copied or stored"):
            take(secret)
    with pytest.raises(TypeError):
        vars(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)
    holder = dataclasses.make_dataclass("Holder", [("inside", Secret)])(secret)
    assert "hush" not in repr(holder)
    assert secret.reveal() == b"hush-hush"


def test_a_source_is_a_file_or_an_environment_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s").write_bytes(b"one")
    monkeypatch.setenv("A_SECRET", "two")
    assert read(str(tmp_path / "s"), "token").reveal() == b"one"
    assert read("env:A_SECRET", "token").reveal() == b"two"
    monkeypatch.delenv("A_SECRET")
    with pytest.raises(AccessError, match="token env:A_SECRET: is empty: set that variable"):
        read("env:A_SECRET", "token")
    for pasted in ("s3cretToken", "eyJh.bGci.Oi1", "ab/cd+ef==", "x\0y", "y" * 5000):
        with pytest.raises(AccessError, match="cannot be read") as error:
            read(pasted, "token")
        assert pasted not in str(error.value)
    with pytest.raises(AccessError, match=r"absent: cannot be read \(No such file"):
        read(str(tmp_path / "absent"), "token")


def test_credentials_may_come_from_the_environment_whole(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    own = parties.pairs["worker"]
    for name, path in (("CERT", own.certificate), ("KEY", own.key), ("CA", parties.authority.path)):
        monkeypatch.setenv(name, Path(path).read_text())
    monkeypatch.setenv("TOKENS", Path(parties.tokens).read_text())
    access = parties.server(certificate="env:CERT", key="env:KEY", authorities="env:CA", tokens="env:TOKENS")
    check(access)
    monkeypatch.setenv("TOKENS", "")
    with pytest.raises(AccessError, match="tokens env:TOKENS: is empty"):
        check(access)


# -- tokens ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"agents {DATA_TOKEN}", "line 2: expected a name, roles"),
        (f"agents root {DATA_TOKEN}", "line 2: expected a name, roles"),
        (f"agents {DATA_TOKEN} data", "line 2: expected a name, roles"),
        ("agents data short-token", "line 2: .* at least 16"),
        (f"agents data {DATA_TOKEN} more", "line 2: expected"),
        ("agents data t\N{LATIN SMALL LETTER O WITH DIAERESIS}ken-of-some-length", "line 2: expected"),
        (f"agents data {CONTROL_TOKEN}", "line 2: its name or token is there twice"),
        (f"ruler data {DATA_TOKEN}", "line 2: its name or token is there twice"),
    ],
)
def test_a_bad_line_of_tokens_is_named_and_not_shown(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "tokens").write_text(f"ruler control {CONTROL_TOKEN}\n{line}\n")
    with pytest.raises(AccessError, match=said) as found:
        read_tokens(str(tmp_path / "tokens"))
    assert not any(word in str(found.value) for word in (CONTROL_TOKEN, DATA_TOKEN, "short-token"))


@given(st.lists(st.lists(st.binary(max_size=30), max_size=4).map(b" ".join), min_size=1, max_size=5).map(b"\n".join))
def test_any_bytes_are_tokens_or_an_error_that_shows_none_of_them(content: bytes) -> None:
    source = f"env:TOKENS_{os.getpid()}"
    known = {b"a", b"name", b"data", b"control"}
    words = [w for w in content.split() if len(w) > 8 and w not in known]
    if b"\0" in content:
        return
    os.environb[source.removeprefix("env:").encode()] = content
    tokens: tuple[Token, ...] = ()
    said = ""
    try:
        tokens = read_tokens(source)
    except AccessError as error:
        said = str(error)
    assert not any(word in said.encode() for word in words)
    if not said:
        assert all(token.roles <= set(Role) and token.roles for token in tokens)
        assert not any(word in repr(tokens).encode() for word in words if len(word) >= 16 and b"," not in word)


@pytest.mark.parametrize("content", ["two words", "tab\there", "n\N{LATIN SMALL LETTER E WITH ACUTE}", "a\nb"])
def test_a_token_to_send_is_one_word_and_is_not_shown(tmp_path: Path, content: str) -> None:
    with pytest.raises(AccessError, match="more than one word of visible ASCII") as found:
        read_token(write_token(tmp_path, content))
    assert content not in str(found.value)


# -- certificates ------------------------------------------------------------------------------------


def test_what_others_would_refuse_is_said_before_it_is_used(parties: Parties, tmp_path: Path) -> None:
    stranger = parties.other.issue("worker", file="of-stranger")
    late = parties.authority.issue("worker", file="late", days=0)
    locked = tmp_path / "locked.key"
    words = ["openssl", "pkey", "-in", parties.pairs["worker"].key, "-aes256", "-passout", "pass:open", "-out", locked]
    subprocess.run(words, check=True, capture_output=True, timeout=30)
    (tmp_path / "junk").write_text("-----BEGIN CERTIFICATE-----\nnot\n-----END CERTIFICATE-----\n")
    junk, worker = str(tmp_path / "junk"), parties.pairs["worker"]
    cases: list[tuple[dict[str, str], str]] = [
        ({"certificate": stranger.certificate, "key": stranger.key}, "of-stranger.pem .*unable to get local issuer"),
        ({"certificate": late.certificate, "key": late.key}, "late.pem .*certificate has expired"),
        ({"key": parties.pairs["nobody"].key}, "cannot be used together .KEY_VALUES_MISMATCH"),
        ({"key": str(locked)}, "not encrypted"),
        ({"certificate": junk}, "cannot be used together"),
        ({"authorities": junk}, "authorities are not certificates"),
        ({"certificate": str(tmp_path / "absent")}, "certificate .*absent: cannot be read"),
    ]
    for changes, said in cases:
        access = parties.server(**changes)
        for make in (server_credentials, channel_credentials):
            with pytest.raises(AccessError, match=said):
                make(access)
        with pytest.raises(ServerError, match=said):
            Server([], access=access)
    assert Path(worker.key).read_text() not in caught(lambda: channel_credentials(parties.server(key=junk)))


def caught(do: Any) -> str:
    with pytest.raises(AccessError) as found:
        do()
    return str(found.value)


def test_a_client_without_authorities_is_refused_for_it_could_be_talking_to_anybody(parties: Parties) -> None:
    own = parties.pairs["controller"]
    with pytest.raises(AccessError, match="authorities are missing"):
        channel_credentials(Access(certificate=own.certificate, key=own.key))


def test_a_certificate_alone_serves_nobody(parties: Parties) -> None:
    with pytest.raises(ServerError, match="not who calls: give roles, or tokens"):
        Server([], access=parties.server(roles={}, tokens=""))


async def test_a_server_that_knows_its_callers_may_listen_beyond_loopback(parties: Parties) -> None:
    for changes in ({"roles": {}}, {"tokens": ""}):
        async with Server([], access=parties.server(address="0.0.0.0", **changes)) as server:
            assert server.port > 0


def test_settings_are_those_of_the_process_until_others_are_given(parties: Parties) -> None:
    access = parties.server()
    with acting_as(access):
        assert ACCESS.get() is access
    assert ACCESS.get() == Access()


def test_two_authorities_of_one_name_are_two(tmp_path: Path) -> None:
    one, two = Authority(tmp_path / "one"), Authority(tmp_path / "two")
    own = one.issue("x")
    access = Access(certificate=own.certificate, key=own.key, authorities=two.path)
    assert "others would refuse it" in caught(lambda: channel_credentials(access))
