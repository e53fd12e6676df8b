"""TLS with authorities and certificates of one's own, and proxies, all on loopback."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import BackendError, ConfigError
from antiphon.upstream.backend import carried
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.http1.connect import TlsFiles
from tests.support.certificates import certificate
from tests.support.raw_http import received, speaking

YEAR = timedelta(days=365)
ANSWER = b'{"answer": "yes"}'
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)


@asynccontextmanager
async def at(url: str, **options: Any) -> AsyncIterator[HttpBackend]:
    backend = HttpBackend("b", url, "sk-1", **options)
    try:
        yield backend
    finally:
        await backend.close()


async def request(backend: HttpBackend) -> bytes:
    reply = await backend.post("/chat/completions", b"{}")
    try:
        return await reply.read()
    finally:
        await reply.close()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await received(reader)
        writer.write(PLAIN)


async def test_a_backend_is_trusted_by_its_own_authority_and_by_no_other(tmp_path: Path) -> None:
    context, signer = certificate(tmp_path, "127.0.0.1", YEAR)
    async with speaking(answer, context) as url:
        async with at(url, tls=TlsFiles(ca_file=str(signer))) as trusting:
            assert [await request(trusting) for _ in range(3)] == [ANSWER] * 3
            assert trusting.idle_connections == 1
        async with at(url) as doubting:
            with pytest.raises(
                BackendError, match=r"TLS certificate rejected \(.+\)\. .*`ca_file`"
            ) as refused:
                await request(doubting)
    assert not refused.value.is_broken  # no byte of a prompt was sent


async def test_a_client_certificate_is_sent_to_a_backend_that_requires_one(tmp_path: Path) -> None:
    context, signer = certificate(tmp_path, "127.0.0.1", YEAR)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(signer)
    pem = signer.read_text()
    end = pem.index("-----BEGIN CERTIFICATE")
    key = tmp_path / "key.pem"
    cert = tmp_path / "cert.pem"
    key.write_text(pem[:end])
    cert.write_text(pem[end:])
    ca = str(signer)
    async with speaking(answer, context) as url:
        for files in (TlsFiles(ca, str(cert), str(key)), TlsFiles(ca, str(signer))):
            async with at(url, tls=files) as known:
                assert await request(known) == ANSWER
        async with at(url, tls=TlsFiles(ca)) as unknown:
            with pytest.raises(BackendError):
                await request(unknown)


def test_files_that_cannot_be_used_are_refused_at_the_start(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    signer = certificate(tmp_path, "127.0.0.1", YEAR)[1]
    empty.write_text("")
    absent = str(tmp_path / "absent.pem")
    for files in (
        TlsFiles(absent),
        TlsFiles(str(empty)),
        TlsFiles(str(signer), absent),
        TlsFiles("", str(empty)),
    ):
        with pytest.raises(ConfigError, match=r"^The backend https://h/v1 cannot be used: "):
            HttpBackend("b", "https://h/v1", tls=files)


def test_a_renewed_certificate_makes_another_backend(tmp_path: Path) -> None:
    signer = certificate(tmp_path, "127.0.0.1", YEAR)[1]
    files = TlsFiles(str(signer))
    before, same = (HttpBackend("b", "https://h/v1", tls=files) for _ in range(2))
    signer.write_text(signer.read_text())
    after = HttpBackend("b", "https://h/v1", tls=files)

    assert before.is_like(same)
    assert not before.is_like(after)
    assert not before.is_like(HttpBackend("b", "https://h/v1"))


@pytest.mark.parametrize(
    ("stated", "kind", "is_whole"),
    [
        (b'{"a": 1}', "application/json", True),
        (b'{"a": 1', "application/json", False),
        (b"data: {}\n\ndata: [DONE]\n\n", "text/event-stream", True),
        (b"data: {}\n\n", "text/event-stream", False),
    ],
)
@pytest.mark.parametrize("is_clean", [True, False], ids=["with close_notify", "without"])
async def test_a_body_delimited_by_the_end_of_tls_is_complete_if_the_end_or_the_body_proves_it(
    tmp_path: Path, stated: bytes, kind: str, is_whole: bool, is_clean: bool
) -> None:
    context, signer = certificate(tmp_path, "127.0.0.1", YEAR)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n\r\n" % kind.encode()
    async with (
        tls_by_hand(context, head + stated, is_clean) as url,
        at(url, tls=TlsFiles(str(signer))) as one,
    ):
        if is_clean or is_whole:
            assert await request(one) == stated
        else:
            with pytest.raises(BackendError, match="closed the connection in the middle"):
                await request(one)


@asynccontextmanager
async def tls_by_hand(context: ssl.SSLContext, data: bytes, is_clean: bool) -> AsyncIterator[str]:
    """A server that ends TLS, or merely its connection. asyncio's would always do the former."""

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as tls:
            tls.recv(65_536)
            tls.sendall(data)
            if is_clean:
                tls.unwrap()
            tls.shutdown(socket.SHUT_WR)
            tls.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(asyncio.to_thread(serve, listening))
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/v1"
        await serving


class ProxyServer:
    """A proxy that notes what it is asked, and forwards or tunnels it to one place."""

    def __init__(self, states: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.states = states
        self.heads: list[bytes] = []

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await received(reader)
        self.heads.append(head)
        method, target, _ = head.split(b"\r\n", 1)[0].split(b" ")
        host, _, port = target.removeprefix(b"http://").partition(b"/")[0].decode().rpartition(":")
        if method == b"CONNECT":
            writer.write(self.states)
            if b" 200 " not in self.states:
                return
        there = await asyncio.open_connection(host, int(port))
        try:
            if method != b"CONNECT":
                there[1].write(head + body)
            await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))
        finally:
            there[1].close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxied(server: ProxyServer) -> AsyncIterator[str]:
    async with speaking(server.speak) as url:
        yield url.removesuffix("/v1")


async def test_a_proxy_receives_the_whole_url() -> None:
    server = ProxyServer()
    async with proxied(server) as proxy, speaking(answer) as url, at(url, proxy=proxy) as one:
        assert [await request(one) for _ in range(2)] == [ANSWER] * 2

    assert len(server.heads) == 1
    host = url.removeprefix("http://").removesuffix("/v1")
    assert server.heads[0].startswith(
        f"POST {url}/chat/completions HTTP/1.1\r\nhost: {host}\r\n".encode()
    )


async def test_tls_goes_through_a_tunnel_and_the_proxy_sees_no_key(tmp_path: Path) -> None:
    context, signer = certificate(tmp_path, "127.0.0.1", YEAR)
    server = ProxyServer()
    tls = TlsFiles(str(signer))
    async with (
        proxied(server) as proxy,
        speaking(answer, context) as url,
        at(url, tls=tls, proxy=proxy.replace("//", "//me:secret@")) as one,
    ):
        assert [await request(one) for _ in range(2)] == [ANSWER] * 2

    host = url.removeprefix("https://").removesuffix("/v1")
    assert server.heads[0].startswith(
        f"CONNECT {host} HTTP/1.1\r\nhost: {host}\r\nproxy-authorization: Basic ".encode()
    )
    assert b"sk-1" not in server.heads[0]
    assert len(server.heads) == 1


async def test_a_certificate_of_another_name_is_refused_through_a_proxy_too(tmp_path: Path) -> None:
    context, signer = certificate(tmp_path, "example.com", YEAR)
    async with (
        proxied(ProxyServer()) as proxy,
        speaking(answer, context) as url,
        at(url, tls=TlsFiles(str(signer)), proxy=proxy) as one,
    ):
        with pytest.raises(BackendError, match=r"TLS certificate rejected \(.*mismatch") as refused:
            await request(one)
    assert refused.value.message == "Backend 'b' is unreachable: TLS certificate rejected."
    assert not refused.value.is_broken


@pytest.mark.parametrize(
    "states",
    [
        b"HTTP/1.1 407 Who are you\r\n\r\n",
        b"HTTP/1.1 502 Nobody\r\nContent-Length: 2\r\n\r\nno",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"x" * 20_000,
        b"",
    ],
    ids=["407", "502", "nonsense", "no status", "no end", "nothing"],
)
async def test_a_proxy_that_refuses_is_a_backend_that_cannot_be_reached(states: bytes) -> None:
    async with (
        proxied(ProxyServer(states)) as proxy,
        at("https://127.0.0.1:9/v1", proxy=proxy) as one,
    ):
        with pytest.raises(BackendError, match="is unreachable: the proxy") as refused:
            await request(one)
    assert not refused.value.is_broken


async def test_a_silent_proxy_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with (
        speaking(silent) as proxy,
        at("https://h/v1", proxy=proxy, connect_timeout=0.05) as one,
    ):
        with pytest.raises(BackendError, match=r"no connection within 0\.05 s"):
            await request(one)


async def test_the_environment_names_the_proxy_but_not_for_this_machine() -> None:
    server = ProxyServer()
    async with (
        proxied(server) as proxy,
        speaking(answer) as url,
        at(url, environment={"HTTP_PROXY": proxy}) as one,
    ):
        assert await request(one) == ANSWER
    assert server.heads == []

    with pytest.raises(ConfigError, match="only http proxies"):
        HttpBackend("b", "https://h/v1", environment={"ALL_PROXY": "socks5://p:1"})
    HttpBackend("b", "http://127.0.0.1/v1", environment={"ALL_PROXY": "socks5://p:1"})


@pytest.mark.parametrize(
    ("url", "key"), [("h/v1", ""), ("ftp://h/v1", ""), ("http://h/v1", "a\nb"), ("http://h", "€")]
)
def test_a_url_or_a_key_that_no_request_can_hold_is_refused_without_showing_the_key(
    url: str, key: str
) -> None:
    with pytest.raises(ConfigError, match=r"cannot be used") as refused:
        HttpBackend("b", url, key)
    assert not key or key not in str(refused.value)


async def test_a_backend_is_sent_the_headers_that_are_carried_along() -> None:
    heads = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head, body = await received(reader)
        heads.append(head)
        assert json.loads(body) == {}
        writer.write(PLAIN)

    async with speaking(listen) as url, at(url) as one:
        token = carried.set({"traceparent": "00-1-2-01"})
        try:
            await request(one)
        finally:
            carried.reset(token)

    assert b"\r\ntraceparent: 00-1-2-01\r\n" in heads[0]
    assert heads[0].endswith(b"content-length: 2\r\n\r\n")
