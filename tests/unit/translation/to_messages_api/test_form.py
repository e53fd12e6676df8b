"""The form in which a model accepts requests: by its name, then by its errors."""

import json
from typing import Any

import pytest

from antiphon.translation.to_messages_api.form import MessagesForm, after_rejection, form_of
from antiphon.translation.to_messages_api.request import messages_request

HI = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-opus-4-6", "adaptive"),
        ("claude-opus-5-5", "adaptive"),
        ("anthropic/claude-sonnet-4.6", "adaptive"),
        ("claude-haiku-5", "adaptive"),
        ("claude-sonnet-4-5-20250929", "budget"),
        ("claude-sonnet-4-20250514", "budget"),
        ("claude-haiku-4-5", "budget"),
        ("claude-3-7-sonnet-latest", "budget"),
        ("kimi-k2", "budget"),
    ],
)
def test_recent_models_think_adaptively(model: str, thinking: str) -> None:
    assert form_of(model, {}).thinking == thinking


@pytest.mark.parametrize(("listed", "cap"), [({}, 32_000), ({"max_tokens": 4_096}, 4_096)])
def test_the_default_limit_is_within_that_of_the_model(listed: dict[str, Any], cap: int) -> None:
    assert form_of("m", listed).cap == cap
    assert form_of("m", {**listed, "max_tokens": True}).cap == 32_000


def after(form: MessagesForm, words: str, **chat: Any) -> MessagesForm | None:
    body = {"model": "m", "messages": [HI], **chat}
    return after_rejection(form, words, body, messages_request(body, form))


def test_another_limit_follows_from_the_error() -> None:
    form = form_of("m", {})
    most = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens"
    room = "input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000, decrease"

    lower, fitting = after(form, most), after(form, room)

    assert (lower and lower.limit, fitting and fitting.limit) == (8_192, 20_000)
    assert (lower and lower.lasting.limit, fitting and fitting.lasting.limit) == (8_192, 32_000)
    assert after(form, most, max_tokens=32_000) is None


def test_the_other_form_of_thinking_is_tried_once() -> None:
    form = form_of("claude-opus-4-6", {})
    words = "thinking.adaptive: Input should be a valid dictionary"

    other = after(form, words, reasoning_effort="high")

    assert other is not None
    assert other.thinking == "budget"
    assert after(other, "budget_tokens: no", reasoning_effort="high") is None
    assert after(form, words, thinking={"type": "adaptive"}) is None


def test_rejected_signatures_are_omitted_from_this_request_alone() -> None:
    signed = {"type": "thinking", "thinking": "So.", "signature": "s"}
    stated = {"role": "assistant", "content": "Yes.", "thinking_blocks": [signed]}
    form = form_of("m", {})

    other = after(form, "Invalid `signature` in `thinking` block", messages=[HI, stated, HI])

    assert other is not None
    assert not other.with_thinking
    assert other.lasting.with_thinking


def test_any_other_error_changes_nothing() -> None:
    assert after(form_of("m", {}), "messages: Field required") is None


SCHEMA = {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize(
    "words",
    [
        "output_format.schema: For 'integer' type, property 'minimum' is not supported",
        "output_config.format.schema: Recursive schemas are not supported",
        "Schema is too complex for compilation. Try reducing the number of tools.",
    ],
)
def test_a_rejected_schema_is_an_instruction_in_this_request_alone(words: str) -> None:
    form = form_of("m", {})

    other = after(form, words, response_format=SCHEMA)

    assert other is not None
    body = messages_request({"model": "m", "messages": [HI], "response_format": SCHEMA}, other)
    assert "output_config" not in body
    assert '"properties"' in body["system"][-1]["text"]
    assert other.lasting == form
    assert after(form, words) is None


@pytest.mark.parametrize(
    ("effort", "expected"), [("minimal", "low"), ("xhigh", "high"), ("max", "max")]
)
def test_an_effort_that_the_model_lacks_is_the_next_lower_one(effort: str, expected: str) -> None:
    words = (
        "This model does not support effort level 'xhigh'. "
        "Supported levels: high, low, max, medium."
    )

    other = after(form_of("claude-opus-4-6", {}), words, reasoning_effort="xhigh")

    assert other is not None
    chat = {"model": "m", "messages": [HI], "reasoning_effort": effort}
    assert messages_request(chat, other)["output_config"] == {"effort": expected}
    assert other.lasting == other


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("system.0.cache_control: Extra inputs are not permitted", "cache_control"),
        ("thinking.adaptive.display: Extra inputs are not permitted", "display"),
    ],
)
def test_what_this_server_adds_is_omitted_if_the_backend_does_not_know_it(
    words: str, name: str
) -> None:
    chat: dict[str, Any] = {"messages": [HI, HI], "tools": [{"type": "x", "name": "x"}]}
    form = form_of("claude-opus-4-6", {})

    other = after(form, words, reasoning_effort="high", **chat)

    assert other is not None
    assert other.thinking == "adaptive"
    sent = messages_request({"model": "m", "reasoning_effort": "high", **chat}, other)
    assert name not in json.dumps(sent)
    assert other.lasting == other
    assert name in json.dumps(
        messages_request({"model": "m", "reasoning_effort": "high", **chat}, form)
    )


def test_thinking_that_cannot_be_disabled_is_left_to_the_model() -> None:
    form = form_of("claude-opus-5", {})

    other = after(form, "thinking: 'disabled' is not supported", reasoning_effort="none")

    assert other is not None
    chat = {"model": "m", "messages": [HI], "reasoning_effort": "none"}
    assert "thinking" not in messages_request(chat, other)
    assert other.lasting == other


@pytest.mark.parametrize(
    "words",
    [
        "tools.0.custom.input_schema.properties.cache_control.type: Input should be 'object'",
        "tools.0.name: String should match the pattern, and 'display: x' does not",
    ],
)
def test_an_error_that_quotes_a_client_concerns_no_additions(words: str) -> None:
    assert after(form_of("claude-opus-5", {}), words, reasoning_effort="high") is None
