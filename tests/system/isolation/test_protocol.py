"""Nobody needs a key to send bytes: what is no request is refused, and is no fault in the log."""

import signal
from pathlib import Path

import pytest

from tests.support.command import serving
from tests.support.raw import state, status_of
from tests.support.replay import ReplayBackend

HEAD = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\n"
UPGRADE = (
    b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: "
    b"AAMAAABkAARAAAAAAAIAAAAA\r\n"
)
CODED = b"transfer-encoding: chunked\r\n\r\n"
BODY = b'19\r\n{"model":"m","input":"x"}\r\n0\r\n\r\n'

REFUSED = {
    "an upgrade with an unknown coding": HEAD
    + UPGRADE
    + b"transfer-encoding: xchunked\r\n\r\n"
    + BODY,
    "a coding before chunked": HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n" + BODY,
    "a coding in a line before chunked": HEAD + b"transfer-encoding: bogus\r\n" + CODED + BODY,
}

HANDSHAKE = (
    b"GET %b HTTP/1.1\r\nhost: 127.0.0.1\r\norigin: http://elsewhere.example\r\nconnection: "
    b"Upgrade\r\n"
    b"upgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: "
    b"13\r\n\r\n"
)


async def test_bytes_that_are_no_request_are_refused_and_leave_no_fault(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, *flags) as server:
        replies = {
            what: status_of(await state(server.url, stated)) for what, stated in REFUSED.items()
        }
        done = await server.stop(signal.SIGTERM)

    assert replies == dict.fromkeys(REFUSED, 400)
    assert backend.requests == []
    assert done.err == ""


@pytest.mark.parametrize("logs", ["0", "1"])
async def test_a_refused_websocket_is_a_line_of_the_access_log(
    tmp_path: Path, backend: ReplayBackend, logs: str
) -> None:
    flags = ("--port", "0", "--backend", backend.url, "--store", "sqlite://")
    async with serving(tmp_path, *flags, ANTIPHON_ACCESS_LOG=logs) as server:
        statuses = [
            status_of(await state(server.url, HANDSHAKE % path))
            for path in (b"/v1/responses", b"/nowhere")
        ]
        done = await server.stop(signal.SIGTERM)

    assert statuses == [403, 403]
    assert "ERROR" not in done.err
    assert done.err.count(" 403 ") == len(done.err.splitlines()) == 2 * int(logs)
