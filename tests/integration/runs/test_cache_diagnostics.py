"""A response reports whether its backend could reuse the prompt of another response."""

from typing import Any

import pytest

from antiphon.errors import StoreError
from antiphon.storage.operations import responses
from tests.support.cases import each
from tests.support.changed_stores import replace_operation
from tests.support.parts import query, scripted_parts, stated, stream
from tests.support.replay import delta

COUNTED = [delta(content="Yes."), delta("stop"), {"choices": [], "usage": {"prompt_tokens": 100}}]
TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}


def compared(response: dict[str, Any]) -> dict[str, Any]:
    return {"prompt_cache_options": {"comparison_response_id": response["id"]}}


async def test_a_prompt_that_continues_the_other_is_a_hit() -> None:
    created, backend = scripted_parts(COUNTED, COUNTED, dialect="llamacpp")
    first = await query(created, input="a")
    second = await query(created, input="b", previous_response_id=first["id"], **compared(first))

    assert (first["prompt_cache_diagnostics"], first["prompt_cache_options"]) == (None, None)
    assert second["prompt_cache_diagnostics"] == {"type": "cache_hit"}
    assert second["prompt_cache_options"] == {"comparison_response_id": first["id"]}
    assert "prompt_cache_options" not in backend.requests[-1]


@each(
    "changes, reason",
    [
        ({"input": "other"}, "input_changed"),
        ({"tools": [TOOL]}, "tools_changed"),
        ({"input": "other", "prompt_cache_key": "k"}, "prompt_cache_key_changed"),
        ({"input": "other", "text": {"verbosity": "low"}}, "verbosity_changed"),
        ({"input": "other", "reasoning": {"effort": "low"}}, "reasoning_effort_changed"),
        ({"input": "other", "text": {"format": {"type": "json_object"}}}, "text_format_changed"),
        ({"input": "other", "service_tier": "flex"}, "service_tier_changed"),
    ],
)
async def test_a_prompt_that_differs_is_a_miss_with_its_reason(
    changes: dict[str, Any], reason: str
) -> None:
    created, _ = scripted_parts(COUNTED, COUNTED, dialect="llamacpp")
    first = await query(created, input="a", instructions="Answer in JSON.")
    body = {"input": "a", "instructions": "Answer in JSON.", **compared(first), **changes}
    found = (await stream(created, **body))[-1]["response"]["prompt_cache_diagnostics"]

    assert (found["type"], found["reason"]) == ("cache_miss", reason)
    assert found["cache_missed_tokens"] + found["comparison_reusable_tokens"] == 100
    assert (found["comparison_reusable_tokens"] > 0) == (reason != "tools_changed")


async def test_an_unknown_response_is_not_found_and_one_without_a_prompt_is_unavailable() -> None:
    created, _ = scripted_parts(COUNTED, COUNTED, COUNTED, dialect="llamacpp")
    nowhere = await query(created, store=False, **compared({"id": "resp_nowhere"}))
    created.run.prompts = None
    first = await query(created)
    second = await query(created, **compared(first))

    assert nowhere["prompt_cache_diagnostics"] == {"type": "comparison_response_not_found"}
    assert second["prompt_cache_diagnostics"] == {"type": "unavailable"}


async def test_a_store_that_fails_costs_the_diagnostics_and_not_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created, _ = scripted_parts(COUNTED, COUNTED, dialect="llamacpp")
    first = await query(created)

    async def fail(*_: Any, **__: Any) -> None:
        raise StoreError("It is away.")

    replace_operation(created.store, responses.load, fail)
    second = await query(created, store=False, **compared(first))
    assert (second["status"], second["prompt_cache_diagnostics"]) == (
        "completed",
        {"type": "unavailable"},
    )


async def test_a_backend_without_a_prompt_cache_has_none_to_compare() -> None:
    created, _ = scripted_parts(stated("Yes."), stated("Yes."))
    first = await query(created)

    assert (await query(created, **compared(first)))["prompt_cache_diagnostics"] == {
        "type": "unavailable"
    }


async def test_a_prewarmed_prompt_is_compared_too() -> None:
    created, _ = scripted_parts(COUNTED, COUNTED, dialect="llamacpp")
    warm = await query(created, input="a", prompt_cache_options={"prewarm": True})

    assert (await query(created, input="a", **compared(warm)))["prompt_cache_diagnostics"] == {
        "type": "cache_hit"
    }
