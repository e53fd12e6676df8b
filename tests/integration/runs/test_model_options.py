"""What is configured for a model, and what is known of it, in the requests that its backend is
sent.
"""

import json
from typing import Any

import msgspec
import pytest

from antiphon.gateway.parts import Parts
from antiphon.protocol.validation.validate import decode_count
from antiphon.runs.input_tokens import count_input_tokens
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.upstream.options import BackendOptions, ModelOptions
from tests.support.parts import called, plain, query, scripted_parts, stated, stream
from tests.support.replay import delta

WINDOW = 4_096
CACHED = {"antiphon": {"cache": True}}
FRENCH = ModelDefaults(
    system_prompt="Answer in French.", parameters={"temperature": 0.2, "top_k": 20}
)


def configured(
    *answers: Any, defaults: ModelDefaults | None = None, **facts: Any
) -> tuple[Parts, Any]:
    """Parts whose one model has these defaults and facts."""
    created, backend = scripted_parts(*answers)
    configure(created, ModelOptions("m", ModelProfile(**facts), defaults))
    return created, backend


def configure(created: Parts, *options: ModelOptions) -> None:
    created.models.backends[0].update(options=BackendOptions(configured=options))


def crowded(tokens: int) -> dict[str, Any]:
    """The last chunk of an answer: what it and its prompt took."""
    usage = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
    return {**delta(), "choices": [], "usage": usage}


async def test_defaults_are_sent_to_the_backend_and_not_echoed_to_the_client() -> None:
    parts, backend = configured(plain("Oui."), defaults=FRENCH)

    response = await query(parts, instructions="Be brief.")

    (sent,) = backend.requests
    assert sent["messages"][0]["content"] == "Answer in French.\n\nBe brief."
    assert (sent["temperature"], sent["top_k"]) == (0.2, 20)
    assert (response["instructions"], response["temperature"]) == ("Be brief.", 1.0)


async def test_what_the_client_sends_wins() -> None:
    parts, backend = configured(plain("Oui."), defaults=FRENCH)

    response = await query(parts, temperature=0.9)

    assert backend.requests[0]["temperature"] == response["temperature"] == 0.9


async def test_a_default_that_the_backend_rejects_costs_one_request_and_no_more() -> None:
    refusal = 400, {"error": {"message": "Unsupported parameter: 'top_k'"}}
    parts, backend = configured(refusal, plain("Oui."), plain("Oui."), defaults=FRENCH)

    for _ in range(2):
        assert (await query(parts))["status"] == "completed"

    assert ["top_k" in request for request in backend.requests] == [True, False, False]


async def test_the_prefix_of_a_chain_stays_the_same_with_a_system_prompt() -> None:
    parts, backend = configured(plain("Un."), plain("Deux."), defaults=FRENCH)

    first = await query(parts, input="One")
    await query(parts, input="Two", previous_response_id=first["id"])

    before, after = (request["messages"] for request in backend.requests)
    assert json.dumps(after).startswith(json.dumps(before)[:-1])


async def test_input_tokens_are_counted_with_the_system_prompt() -> None:
    parts, _ = configured()
    request = decode_count(msgspec.json.encode({"model": "m", "input": "Hi"}))
    without = (await count_input_tokens(parts.run, request)).input_tokens
    configure(parts, ModelOptions("m", defaults=FRENCH))

    assert (await count_input_tokens(parts.run, request)).input_tokens > without


async def test_a_cached_answer_is_not_reused_after_the_defaults_change() -> None:
    parts, backend = configured(plain("Oui."), plain("Si."), defaults=FRENCH)

    for _ in range(2):
        await query(parts, **CACHED)
    assert len(backend.requests) == 1

    configure(parts, ModelOptions("m", defaults=ModelDefaults(system_prompt="Answer in Italian.")))
    await query(parts, **CACHED)
    assert len(backend.requests) == 2


async def test_a_model_without_a_system_role_gets_instructions_in_the_first_user_message() -> None:
    parts, backend = configured(plain("Yes."), system_role=False)

    await query(
        parts,
        instructions="Be brief.",
        input=[{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
    )

    assert backend.requests[0]["messages"] == [
        {"role": "user", "content": "Be brief.\n\nBe kind.\n\nHi"}
    ]


# The context window.


async def test_truncation_keeps_a_prompt_with_tools_inside_the_window() -> None:
    parts, backend = configured(called("look"), context_window=WINDOW)
    talk = [{"role": "user", "content": f"{number} " + "word " * 1000} for number in range(8)]
    tool = {"type": "custom", "name": "look"}

    await query(
        parts, input=[*talk, {"role": "user", "content": "Well?"}], tools=[tool], truncation="auto"
    )

    sent = [message["content"].split()[0] for message in backend.requests[0]["messages"]]
    assert sent[-1] == "Well?"
    assert 1 < len(sent) < 5


@pytest.mark.parametrize("threshold", [None, 50_000])
async def test_a_compaction_begins_before_the_window_is_full(threshold: int | None) -> None:
    parts, backend = configured(
        [*stated("Yes."), crowded(3_500)], stated("In short."), context_window=WINDOW
    )
    managed = [{"type": "compaction"} | ({"compact_threshold": threshold} if threshold else {})]

    events = await stream(parts, input="Hi", context_management=managed)

    assert [item["type"] for item in events[-1]["response"]["output"]] == ["message", "compaction"]
    assert len(backend.requests) == 2


async def test_a_threshold_below_the_window_is_unchanged() -> None:
    parts, backend = configured(
        [*stated("Yes."), crowded(1_500)], stated("In short."), context_window=WINDOW
    )

    await query(
        parts, input="Hi", context_management=[{"type": "compaction", "compact_threshold": 1_000}]
    )

    assert len(backend.requests) == 2


async def test_a_summary_is_requested_with_a_prompt_that_fits() -> None:
    parts, backend = configured(stated("In short."), context_window=WINDOW)
    talk = [
        {"role": role, "content": "word " * 1000}
        for _ in range(6)
        for role in ("user", "assistant")
    ]

    response = await query(parts, input=[*talk, {"type": "compaction_trigger"}])

    assert [item["type"] for item in response["output"]] == ["compaction"]
    assert len(json.dumps(backend.requests[0]["messages"])) // 4 < WINDOW
