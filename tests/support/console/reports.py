"""Reports of `antiphon verify` for the scripted server: four servers, one of which was judged
twice.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from antiphon.console.reports import Reports
from antiphon.sharing.offload import Offload, thread_turns
from antiphon.storage.open import open_store
from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.report import Report, Result, encode_report

DAY = 86_400

SERVERS: dict[str, tuple[str, int, tuple[str, ...], tuple[str, ...]]] = {
    "antiphon over gpu-a": ("qwen3-32b", 1, (), ("responses:hosted:web",)),
    "antiphon over gpu-a, before": (
        "qwen3-32b",
        9,
        ("responses:stream:item", "responses:calls:"),
        (),
    ),
    "gpu-a": (
        "qwen3-32b",
        2,
        ("responses:stream:item", "responses:errors"),
        ("responses:mcp", "responses:background"),
    ),
    "ollama": (
        "gpt-oss-20b",
        3,
        ("chat:tools", "responses:echo", "responses:items"),
        ("responses:",),
    ),
}
"""The model of each server, how many days ago it was judged, and what it breaks and lacks by the
beginning of ids.
"""


def report(name: str, now: float) -> Report:
    """Return the report of a server."""
    model, days, broken, lacking = SERVERS[name]
    name = name.partition(",")[0]
    results = tuple(_result(one, broken, lacking) for one in REQUIREMENTS.values())
    return Report(
        name=name,
        version="0.1.0",
        base_url="http://10.0.0.7:8000/v1",
        model=model,
        started_at=int(now) - days * DAY,
        seconds=41.2,
        requests=612,
        about={"version": "1.2"},
        results=results,
    )


def _result(one: Any, broken: tuple[str, ...], lacking: tuple[str, ...]) -> Result:
    known = {
        "id": one.id,
        "level": one.level,
        "kind": one.kind,
        "source": one.source,
        "sentence": one.sentence,
    }
    if broken and one.id.startswith(broken):
        return Result(
            **known, outcome="failed", came="status 500, 'internal error'", place="/error"
        )
    if lacking and one.id.startswith(lacking):
        return Result(**known, outcome="not offered", came="status 404")
    return Result(**known, outcome="passed")


Handler = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def known_reports() -> AsyncIterator[Reports]:
    """Yield a store's reports, which have those of all servers."""
    store = await open_store("sqlite://")
    offload = Offload(thread_turns())
    reports = Reports(store, offload)
    for name in SERVERS:
        await reports.save(encode_report(report(name, time.time())))
    try:
        yield reports
    finally:
        offload.close()
        await store.close()


def report_routes(root: str, known: Callable[[], Reports]) -> list[web.RouteDef]:
    """Return the routes of the reports."""

    async def list_all(request: web.Request) -> web.Response:
        return web.json_response(
            {"object": "list", "data": await known().list(), "has_more": False}
        )

    async def save(request: web.Request) -> web.Response:
        return web.json_response(await known().save(await request.read()))

    async def matrix(request: web.Request) -> web.Response:
        return web.json_response(await known().matrix([]))

    async def details(request: web.Request) -> web.Response:
        return web.json_response(await known().details(request.match_info["id"]))

    async def delete(request: web.Request) -> web.Response:
        await known().delete(request.match_info["id"])
        return web.json_response({"deleted": True})

    return [
        web.get(f"{root}/reports", list_all),
        web.post(f"{root}/reports", save),
        web.get(f"{root}/reports/matrix", matrix),
        web.get(f"{root}/reports/{{id}}", details),
        web.delete(f"{root}/reports/{{id}}", delete),
    ]
