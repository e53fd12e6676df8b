"""Proxies that run with the files of `deploy/`: only addresses and certificates are those of the
test.
"""

import asyncio
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import aiohttp
from bench.ports import free_port

from tests.support.certificates import certificate
from tests.support.command import pids_below
from tests.support.replay import Answer, ReplayBackend, text

DEPLOY = Path(__file__).parents[3] / "deploy"

PATIENCE = 30.0
"""Seconds that a proxy has to listen."""

NAME = "127.0.0.1"
"""What the certificate of the test names; it takes the place of the guide's `ai.example.com`."""

HI = {"model": "m", "input": "Hi"}
"""The body of a request."""

_MAIN = """
daemon off;
worker_processes 2;
{user}
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/antiphon.conf;
}}
"""


class Proxy:
    """A proxy that runs: its URL, and a context that trusts its certificate."""

    def __init__(self, folder: Path, port: int, trust: ssl.SSLContext) -> None:
        self.folder = folder
        self.port = port
        self.trust = trust
        self.url = f"https://{NAME}:{port}/v1"


class Nginx(Proxy):
    """nginx with `deploy/nginx/antiphon.conf`."""

    def write(self, servers: Sequence[str]) -> None:
        """Write the files; `servers` are what stands behind `server` in the upstream."""
        pem = self.folder / "shown.pem"
        text = (DEPLOY / "nginx/antiphon.conf").read_text()
        text = _replaced(text, "listen 443 ssl;", f"listen {NAME}:{self.port} ssl;")
        text = _replaced(text, "server_name ai.example.com;", f"server_name {NAME};")
        text = _replaced(
            text, "    server 127.0.0.1:8321;", "\n".join(f"    server {one};" for one in servers)
        )
        text = re.sub(r"(ssl_certificate(?:_key)?) +\S+;", rf"\1 {pem};", text)
        (self.folder / "antiphon.conf").write_text(text)
        shutil.copy(DEPLOY / "nginx/antiphon-proxy.conf", self.folder)
        user = (
            "user root;" if os.getuid() == 0 else ""
        )  # its workers must enter the folder of the test
        (self.folder / "nginx.conf").write_text(_MAIN.format(folder=self.folder, user=user))

    def command(self, program: str, *arguments: str) -> list[str]:
        return [
            program,
            "-e",
            "stderr",
            "-p",
            str(self.folder),
            "-c",
            str(self.folder / "nginx.conf"),
            *arguments,
        ]

    async def reload(self, program: str, servers: Sequence[str]) -> None:
        """Have other servers, as `nginx -s reload` does it; return once the processes with the old
        ones have ended.
        """
        master = int((self.folder / "nginx.pid").read_text())
        old = set(pids_below(master))
        self.write(servers)
        process = await asyncio.create_subprocess_exec(
            *self.command(program, "-s", "reload"), stderr=-1
        )
        _, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        async with asyncio.timeout(PATIENCE):
            while old & set(pids_below(master)):
                await asyncio.sleep(0.02)


def proxy(folder: Path) -> Nginx:
    """nginx's files in a folder, with a certificate and a free port."""
    _, signer = certificate(folder, NAME, timedelta(days=1))
    return Nginx(folder, free_port(), ssl.create_default_context(cafile=str(signer)))


@asynccontextmanager
async def nginx(program: str, folder: Path, *servers: str) -> AsyncIterator[Nginx]:
    """Run nginx before these servers."""
    created = proxy(folder)
    created.write(servers)
    async with running(created.port, *created.command(program)):
        yield created


@asynccontextmanager
async def running(port: int, *command: str, **variables: str) -> AsyncIterator[None]:
    """Run a program until the end of the block; it listens."""
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **variables}, stdout=-3, stderr=-1
    )
    try:
        async with asyncio.timeout(PATIENCE):
            while not await _listens(port):
                assert process.returncode is None, (await process.communicate())[1].decode()
                await asyncio.sleep(0.05)
        reading = asyncio.create_task(_drain(process.stderr))
        yield
        reading.cancel()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def check_events_pass_at_once(
    backend: ReplayBackend, front: Proxy, client: aiohttp.ClientSession
) -> None:
    """Check that a client receives the first event while the model still waits, and the last event
    afterwards.
    """
    go = asyncio.Event()
    backend.script = lambda _: Answer([text("Hello")[:60]], wait=go, rest=[text("Hello")[60:]])
    async with client.post(f"{front.url}/responses", json={**HI, "stream": True}) as response:
        first = await asyncio.wait_for(response.content.readuntil(b"\n\n"), 30)
        assert first.startswith(b"event: response.created")
        go.set()
        rest = await response.content.read()

    assert b"event: response.completed" in rest


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(NAME, port)
    except OSError:
        return False
    writer.close()
    return True


async def _drain(stream: asyncio.StreamReader | None) -> None:
    assert stream is not None
    while await stream.readline():
        pass


def _replaced(text: str, old: str, new: str) -> str:
    assert old in text, f"the file has no {old!r} any more"
    return text.replace(old, new)


async def check_large_files_pass(front: Proxy, client: aiohttp.ClientSession) -> None:
    """A file, and a part of an upload, are larger than other bodies may be."""
    size = 40 * 1024 * 1024
    form = aiohttp.FormData({"purpose": "user_data"}, default_to_multipart=True)
    form.add_field("file", BytesIO(bytes(size)), filename="a.bin")
    async with client.post(f"{front.url}/files", data=form) as response:
        created = await response.json()
        assert (response.status, created["bytes"]) == (200, size)
    async with client.get(f"{front.url}/files/{created['id']}/content") as response:
        assert len(await response.read()) == size
    upload = {"filename": "b", "purpose": "user_data", "bytes": size, "mime_type": "x/y"}
    async with client.post(f"{front.url}/uploads", json=upload) as response:
        upload_id = (await response.json())["id"]
    part = aiohttp.FormData()
    part.add_field("data", BytesIO(bytes(size)), filename="part")
    async with client.post(f"{front.url}/uploads/{upload_id}/parts", data=part) as response:
        assert response.status == 200
