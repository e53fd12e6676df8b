"""The file of settings as an operator changes it, and which backend a server then asks."""

import asyncio
from pathlib import Path
from typing import Protocol

import aiohttp

from tests.support.command import PATIENCE

BODY = {"model": "m", "input": "Hi", "store": False}


class Reachable(Protocol):
    """A server, in this process or in one of its own."""

    url: str


def write(folder: Path, *backends: tuple[str, str], more: str = "") -> None:
    tables = (f'[[backends]]\nname = "{name}"\nurl = "{url}"\n' for name, url in backends)
    (folder / "antiphon.toml").write_text(more + "".join(tables))


def spoil(folder: Path, mistake: str | None) -> None:
    """Write a file with a mistake, or take the file away."""
    file = folder / "antiphon.toml"
    file.unlink() if mistake is None else file.write_text(mistake)


async def answering_backend(server: Reachable, http: aiohttp.ClientSession) -> str:
    async with http.post(server.url + "/responses", json=BODY) as response:
        assert response.status == 200, await response.text()
        return response.headers["antiphon-backend"]


async def until_all_answer(name: str, server: Reachable, http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(PATIENCE):
        while {await answering_backend(server, http) for _ in range(6)} != {name}:
            pass
