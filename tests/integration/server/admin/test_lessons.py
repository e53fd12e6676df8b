"""Lessons about backends in the console: what was refused, and how an administrator drops it."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from antiphon.ids import now
from antiphon.jobs.profiles import ProfileKeeper
from antiphon.storage.records.tenants import Role
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.http import HttpBackend
from tests.integration.server.admin.test_audit import lines
from tests.integration.server.test_refusing_backends import hello, refused
from tests.support.keys import bearing, issue
from tests.support.replay import Answer, ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.signed_in import Browser, signed_in
from tests.support.waiting import eventually

LESSONS = "/admin/v1/lessons"
REFUSAL = "Unsupported parameter: 'top_p' is not supported with this model."
SECONDS = 10
"""In which all processes forget a lesson; their profiles are read every 30 s."""


def strict(request: dict[str, Any]) -> Answer:
    """Refuse `top_p`, in words that name it."""
    return refused(REFUSAL) if "top_p" in request else hello(request)


@asynccontextmanager
async def before(backend: ReplayBackend, store: str = "sqlite://") -> AsyncIterator[RunningServer]:
    backend.script = strict
    async with serve(HttpBackend("gpu-a", backend.url), store=store) as server:
        await server.parts.models.refresh()
        yield server


async def send_request(server: RunningServer) -> None:
    key = await issue(server.parts.store, "acme")
    body = {"model": "m", "input": "Hi", "top_p": 0.5}
    async with server.http.post(
        f"{server.url}/responses", json=body, headers=bearing(key)
    ) as reply:
        assert reply.status == 200, await reply.text()


async def listed(browser: Browser) -> list[dict[str, Any]]:
    answered = await browser.send_request("GET", LESSONS)
    assert answered.status == 200, answered.body
    found: list[dict[str, Any]] = answered.json["data"]
    return found


def with_top_p(backend: ReplayBackend) -> int:
    return sum("top_p" in request for request in backend.requests)


async def test_a_dropped_lesson_is_learned_again_where_the_backend_refuses_again(
    backend: ReplayBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    async with before(backend) as server:
        admin = await signed_in(server, Role.ADMIN, "operators")
        assert await listed(admin) == []
        await send_request(server)
        await send_request(server)
        assert with_top_p(backend) == 1
        (lesson,) = await listed(admin)
        assert (lesson["backend"], lesson["model"], lesson["name"]) == ("gpu-a", "m", "top_p")
        assert "is not supported with this model" in lesson["said"]
        assert (lesson["tenant"], lesson["expires_at"]) == (None, lesson["learned_at"] + 86_400)

        dropped = await admin.send_request("DELETE", f"{LESSONS}/{lesson['id']}")
        assert dropped.json == {"object": "lesson", "id": lesson["id"], "deleted": True}
        assert await listed(admin) == []
        assert lines(caplog)[-1] == {
            "event": "lesson_forgotten",
            "by": lines(caplog)[-1]["by"],
            "lesson_id": lesson["id"],
            "model": "m",
            "lesson": "top_p",
        }
        await send_request(server)
        assert with_top_p(backend) == 2
        assert [one["id"] for one in await listed(admin)] == [lesson["id"]]


async def test_other_processes_forget_a_dropped_lesson_within_seconds(
    backend: ReplayBackend, store_url: str
) -> None:
    async with before(backend, store_url) as one, before(backend, store_url) as other:
        admin = await signed_in(one, Role.ADMIN)
        (state,) = other.parts.models.backends
        keeper = ProfileKeeper(other.parts.store, other.parts.models, now)
        keeper.start()
        try:
            async with asyncio.timeout(SECONDS):
                await send_request(one)
                (lesson,) = await listed(admin)
                await eventually(lambda: refused_by(state))
                await admin.send_request("DELETE", f"{LESSONS}/{lesson['id']}")
                await eventually(lambda: refused_by(state), lambda names: not names)
        finally:
            await keeper.close()


async def refused_by(state: BackendState) -> frozenset[str]:
    return state.lessons_of("m").refused


async def test_only_administrators_see_and_drop_lessons(backend: ReplayBackend) -> None:
    async with before(backend) as server:
        await send_request(server)
        reader = await signed_in(server)
        admin = await signed_in(server, Role.ADMIN)
        (lesson,) = await listed(admin)
        path = f"{LESSONS}/{lesson['id']}"
        for method, each in (("GET", LESSONS), ("DELETE", path)):
            answered = await reader.send_request(method, each)
            assert (answered.status, answered.code) == (403, "not_allowed")
        assert (await admin.send_request("DELETE", f"{LESSONS}/lesson_none")).status == 404
        assert len(await listed(admin)) == 1


async def test_the_list_has_pages(backend: ReplayBackend) -> None:
    async with before(backend) as server:
        (state,) = server.parts.models.backends
        for name in ("a", "b", "c"):
            state.lessons_of("m").learn(name)
        admin = await signed_in(server, Role.ADMIN)
        first = (await admin.send_request("GET", f"{LESSONS}?limit=2")).json
        second = (
            await admin.send_request("GET", f"{LESSONS}?limit=2&after={first['last_id']}")
        ).json
        names = [one["name"] for page in (first, second) for one in page["data"]]
        assert (sorted(names), first["has_more"], second["has_more"]) == (
            ["a", "b", "c"],
            True,
            False,
        )
        unknown = await admin.send_request("GET", f"{LESSONS}?after=lesson_none")
        assert (unknown.status, json.loads(unknown.body)["error"]["param"]) == (400, "after")
