"""Looks at certificates before they are used: what the other side would find wrong is said here, and clearly.

Rules of this file:

- A certificate is judged by a handshake of this process with itself, in memory: that is what the others do.
- No file is written; an encrypted key is refused, nobody is asked for a password.
"""

from __future__ import annotations

import os
import ssl

from .sources import AccessError, Secret


def judge(
    certificate: Secret | None, key: Secret | None, authorities: Secret | None, *, as_client: bool, named: str
) -> None:
    """Raises AccessError unless this certificate is one that `authorities` vouch for, now and for this use.

    Without a certificate only the authorities are looked at, without authorities only whether certificate
    and key are a pair. `named` begins the errors.
    """
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    judging = server if as_client else client
    if authorities is not None:
        try:
            judging.load_verify_locations(cadata=authorities.reveal().decode("ascii"))
        except (ssl.SSLError, ValueError):
            raise AccessError(
                f"{named}: authorities are not certificates: give them as PEM, one after another"
            ) from None
    if certificate is None or key is None:
        return
    for context in (server, client):
        _load(context, certificate, key, named)
    if authorities is not None:
        judging.verify_mode = ssl.CERT_REQUIRED
        try:
            _shake_hands(server, client)
        except ssl.SSLCertVerificationError as error:
            mend = "sign it anew with the key of the authorities that are given"
            raise AccessError(f"{named}: others would refuse it ({error.verify_message}): {mend}") from None


def _load(context: ssl.SSLContext, certificate: Secret, key: Secret, named: str) -> None:
    """Through memory that no other process can name."""
    files = []
    try:
        for content in (certificate, key):
            files.append(os.memfd_create("tls", os.MFD_CLOEXEC))
            os.write(files[-1], content.reveal())
        paths = [f"/proc/self/fd/{file}" for file in files]
        context.load_cert_chain(*paths, password=lambda: b"")
    except (ssl.SSLError, ValueError) as error:
        why = getattr(error, "reason", None) or "the key may be encrypted"
        text = f"{named}: they cannot be used together ({why}): give a PEM certificate and its own key, not encrypted"
        raise AccessError(text) from None
    finally:
        for file in files:
            os.close(file)


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_side=False),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)
