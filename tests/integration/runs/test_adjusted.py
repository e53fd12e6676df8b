"""What a response shows as adjusted is what the backend that answered was sent."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.storage.sqlite.store import SqliteStore
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import NOW, begin, foundation, parts_with, stated
from tests.support.replay import delta, sse

REFUSED = (
    400,
    {"error": {"message": "`temperature` and `top_p` cannot both be specified for this model."}},
)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_what_was_adjusted_for_a_backend_that_broke_off_does_not_count(
    is_stream: bool,
) -> None:
    breaks = sse(delta(role="assistant"), done=False)
    first = ScriptedBackend([REFUSED, breaks], models=["m"], name="first")
    second = ScriptedBackend([sse(*stated("Hello"))], models=["m"], name="second")
    families = {"first": "generic", "second": "generic"}
    registry = ModelRegistry([first, second], lambda: NOW, families)
    store = SqliteStore.open("sqlite://")
    created = parts_with(foundation(registry, store))

    run = await begin(created, temperature=0.5, top_p=0.9, stream=is_stream)
    response: dict[str, Any] = json.loads(msgspec.json.encode(await run.result()))

    assert (first.requests[-1].get("top_p"), second.requests[-1]["top_p"]) == (None, 0.9)
    assert (response["top_p"], [*run.record.adjusted]) == (0.9, [])
