"""What one tenant has stored, however large, holds up no other tenant."""

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from antiphon.ids import new_id
from antiphon.storage.open import open_store
from antiphon.storage.operations import conversations
from antiphon.storage.postgres import link
from antiphon.storage.records.responses import StoredConversation, StoredItem, StoredResponse
from tests.support.replay import ReplayBackend, echo
from tests.support.rivals import Rivals, rivals

MEGABYTE = 1024 * 1024
TINY = 100_000
LARGE = 16
MARGIN = 100 * MEGABYTE
PATIENCE = 1.5
"""Seconds of the server's CPU in which B has a response. Each of A's requests once took the event
loop for longer.
"""


def item(text: str) -> StoredItem:
    key = new_id("msg")
    message = {"type": "message", "id": key, "status": "completed", "role": "user"}
    return StoredItem(
        key, msgspec.json.encode({**message, "content": [{"type": "input_text", "text": text}]})
    )


async def fill(url: str) -> tuple[str, str]:
    """Store for A a response of many tiny items and a conversation of a few large ones, as older
    servers let it.
    """
    store = await open_store(url)
    now = int(time.time())
    body = msgspec.json.encode({"id": "resp", "object": "response", "model": "m", "output": []})
    many = StoredResponse(
        new_id("resp"), now, "completed", None, body, [item("") for _ in range(TINY)], tenant="a"
    )
    large = StoredConversation(new_id("conv"), now, b"{}", "a")
    await store.save(replace(many, expires_at=now + 86_400))
    await store.write(conversations.create, large, [])
    for _ in range(LARGE):
        await store.write(conversations.add, "a", large.id, [item("x" * 10 * MEGABYTE)])
    await store.close()
    return many.id, large.id


async def work(both: Rivals, done: asyncio.Event) -> list[tuple[float, int, str]]:
    """Have B ask for one response after the other; return what the server computed meanwhile, and
    what it was.
    """
    taken: list[tuple[float, int, str]] = []
    while not done.is_set():
        before = both.cpu
        status, body = await both.b.respond()
        taken.append((both.cpu - before, status, body.get("status", "")))
    return taken


async def alongside(both: Rivals, *attacks: Awaitable[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Let A attack while B works, which must not notice."""
    done = asyncio.Event()
    working = asyncio.create_task(work(both, done))
    replies = [await attack for attack in attacks]
    done.set()
    taken = await working
    assert {(status, what) for _, status, what in taken} == {(200, "completed")}
    assert max(seconds for seconds, _, _ in taken) < PATIENCE
    return replies


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_tenants_stored_data_delays_no_other_tenant(
    kind: str,
    tmp_path: Path,
    backend: ReplayBackend,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        link, "STATEMENT_TIMEOUT", 60.0
    )  # of this process, which stores more than a request may
    backend.script = echo
    url = f"sqlite://{tmp_path}/antiphon.db"
    if kind == "postgres":
        url = await request.getfixturevalue("postgres").database()
    many, large = await fill(url)
    async with rivals(tmp_path, url, backend.url) as both:
        a = both.a
        follow = {"model": "m", "input": "Hi", "previous_response_id": many}
        await both.b.respond()
        idle = both.memory
        pages = f"/conversations/{large}/items?limit=100", f"/responses/{many}/input_items?limit=1"
        listed, conversation, counted, followed, talked = await alongside(
            both,
            a.send_request("GET", pages[1]),
            a.send_request("GET", pages[0]),
            a.send_request("POST", "/responses/input_tokens", **follow),
            a.respond(previous_response_id=many),
            a.respond(conversation=large),
        )
        assert (listed[0], len(listed[1]["data"]), listed[1]["has_more"]) == (200, 1, True)
        assert (conversation[0], len(conversation[1]["data"]), conversation[1]["has_more"]) == (
            200,
            1,
            True,
        )
        for status, body in (counted, followed, talked):
            assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
        assert both.peak_memory - idle <= MARGIN
