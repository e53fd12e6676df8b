"""The files and functions that a request for a stored object passes, for `make code-figures`."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.forms import CONTENT_TYPE, TAIL, head
from bench.trace.counter import Function, files_of_ours
from bench.trace.loopback import Client
from bench.trace.scenarios import cheapest, connected
from bench.wire import id_in, request

PATH = "GET /v1/files/{id}"

CONNECTION = "antiphon.http_server"
"""The package whose files are not counted: they are the same for every request."""


async def depth(folder: Path) -> tuple[int, int]:
    """Return how many files `PATH` passes from the ASGI application to SQLite, and how many of
    their functions.

    The store is in this folder.
    """
    async with connected(folder, facts=False) as client:
        # In a task of its own: whatever runs this one is Python too, and would be counted.
        calls = await asyncio.create_task(_calls(client))
    passed = functions_inside(calls)
    return len({module for module, _ in passed}), len(passed)


def functions_inside(calls: Mapping[Function, float]) -> set[Function]:
    """Return the functions of ours that were called, without those of the connection."""
    files = {module for module in files_of_ours(calls) if not module.startswith(f"{CONNECTION}.")}
    return {(module, name) for (module, name), count in calls.items() if count and module in files}


async def _calls(client: Client) -> Mapping[Function, float]:
    form = head("user_data", "notes.txt") + b"Hello!" + TAIL
    file_id = id_in(await client.send(request("POST", "/v1/files", form, CONTENT_TYPE), _no_delta))
    return await cheapest(partial(_retrieve, client, file_id))


async def _retrieve(client: Client, file_id: str) -> None:
    await client.send(request("GET", f"/v1/files/{file_id}"), _no_delta)


def _no_delta() -> None:
    """Do nothing: the reply is no stream."""
