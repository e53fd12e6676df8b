"""What counting for `/metrics` takes of one streamed, stored response, in this process and without a socket."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

from antiphon.backends.scripted import ScriptedBackend
from antiphon.chat.dialects import DIALECTS
from antiphon.engine.measuring import Measuring, ModelNames, timed
from antiphon.engine.models import Target
from antiphon.engine.observers import Call
from antiphon.measures import Measures
from antiphon.protocol.response import Response, Usage

_RESPONSES = 5_000


_TARGET = Target(ScriptedBackend([]), DIALECTS["generic"], "burst", "burst")


class _Run:
    """As much of a response as is looked at."""

    model = "burst"
    is_stream = True
    is_background = False
    response = Response(id="resp", created_at=1, model=model, status="completed", usage=Usage(input_tokens=9))


class _Store:
    """Keeps nothing, so that what is left is the counting."""

    async def save(self, response: Response) -> bool:
        return True


def microseconds() -> float:
    """Return what it takes of processor time, in µs."""
    models = SimpleNamespace(served=[SimpleNamespace(offers=lambda: [{"id": "burst"}])])
    measures = Measures()
    measuring = Measuring(measures, ModelNames(cast("Any", models)))
    alone, counted = asyncio.run(_saves(_Store())), asyncio.run(_saves(timed(cast("Any", _Store()), measures)))
    began = time.process_time()
    for _ in range(_RESPONSES):
        _count(measuring, cast("Any", _Run()))
    return (time.process_time() - began + counted - alone) / _RESPONSES * 1e6


def _count(measuring: Measuring, run: Any) -> None:
    measuring.began(run)
    call = Call(run, _TARGET, {})
    measuring.asked(call)
    measuring.spoke(call)
    measuring.answered(call)
    measuring.ended(run)
    measuring.measures.requests.add("/v1/responses", "POST", "200")


async def _saves(store: Any) -> float:
    began = time.process_time()
    for _ in range(_RESPONSES):
        await store.save(_Run.response)
    return time.process_time() - began
