"""What counting for `/metrics`, and knowing for the log whose work it is, take of one streamed,
stored response.
"""

import asyncio
import time
from bisect import bisect_left
from types import SimpleNamespace
from typing import Any, cast

from antiphon.protocol.response import Response, Usage
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Kind
from antiphon.telemetry.access_log import AccessLog
from antiphon.telemetry.context import About, begin
from antiphon.telemetry.metrics import Measures, ModelNames, ResponseMetrics
from antiphon.telemetry.observers import ObservedCall, Observer, ResponseRecord
from antiphon.telemetry.requests import HTTP_SECONDS
from antiphon.translation.dialects.table import DIALECTS
from antiphon.upstream.backend_state import BackendState, ModelTarget
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.scripted import ScriptedBackend

_RESPONSES = 5_000


_RESPONSE = Response(
    id="resp", created_at=1, model="burst", status="completed", usage=Usage(input_tokens=9)
)
_TARGET = ModelTarget(
    BackendState(ScriptedBackend([]), DIALECTS["generic"], BackendOptions()), "burst", "burst"
)


class _Store(SqliteStore):
    """Stores nothing, so that what is left is the counting."""

    async def _save_plainly(self, response: StoredResponse) -> None:
        pass


class _Uncounted(_Store):
    """Does not even count."""

    def _count(self, kind: Kind, began: float) -> None:
        pass


def counting() -> float:
    """Return what the counting takes of processor time, in µs."""
    models = SimpleNamespace(backends=[SimpleNamespace(offers=lambda: [{"id": "burst"}])])
    measures = Measures()
    measuring = ResponseMetrics(measures, ModelNames(cast("Any", models)), time.monotonic)
    alone = asyncio.run(_saves(_Uncounted))
    counted = asyncio.run(_saves(_Store))
    began = time.process_time()
    for _ in range(_RESPONSES):
        _report(measuring)
        spread = measures.requests.spreads["/v1/responses", "POST", "200"]
        spread.counts[bisect_left(HTTP_SECONDS, 0.1)] += 1
        spread.total += 0.1
    return (time.process_time() - began + counted - alone) / _RESPONSES * 1e6


def noting() -> float:
    """Return what knowing whose work it is takes of processor time, in µs; no line is written."""
    noted = AccessLog()
    began = time.process_time()
    for _ in range(_RESPONSES):
        begin(About("req_0", is_exchange=True))
        _report(noted)
    return (time.process_time() - began) / _RESPONSES * 1e6


def _report(observer: Observer) -> None:
    record = ResponseRecord(
        _RESPONSE,
        _TARGET,
        list,
        is_stream=True,
        began=time.monotonic(),
        model="burst",
        outcome="completed",
    )
    observer.began(record)
    call = ObservedCall(record, _TARGET, {})
    observer.requested(call)
    observer.spoke(call)
    observer.answered(call)
    observer.ended(record)


async def _saves(kind: type[_Store]) -> float:
    store = kind.open("sqlite://")
    response = StoredResponse("resp", 1, "completed", None, b"{}")
    began = time.process_time()
    for _ in range(_RESPONSES):
        await store.save(response)
    took = time.process_time() - began
    await store.close()
    return took
