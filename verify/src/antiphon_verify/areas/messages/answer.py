"""Non-streamed messages, and counts of their tokens."""

from typing import Any

from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, is_text, listed, preview
from antiphon_verify.replies import states
from antiphon_verify.replies.messages import answer as replies
from antiphon_verify.replies.messages.bodies import MESSAGE, refused
from antiphon_verify.requirement import capability, must, should
from antiphon_verify.trial import Steps, Trial

TYPES = "messages types"
"""The types of the SDKs."""

REASONS = (
    *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
    *("model_context_window_exceeded", "compaction"),
)

COUNTS = ("input_tokens", "output_tokens")

WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Returns the weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


def text_of(message: Any) -> str:
    """Return the text of a message."""
    texts = (at(block, "text") for block in listed(message, "content"))
    return "".join(text for text in texts if isinstance(text, str))


@case(
    must(
        "messages:answer:object",
        TYPES,
        "A non-streamed reply is a `message` of the role `assistant`, with an `id` and a `model`.",
        fault=[replies.PARIS.patched("type", to="completion")],
    ),
    asides=(
        must(
            "messages:answer:content",
            TYPES,
            "`content` is a list of blocks, each with a `type`.",
            fault=[replies.PARIS.patched("content", to="Paris.")],
        ),
        must(
            "messages:answer:text",
            "issue litellm#26853",
            "No text block is empty: clients send it back, and it is refused.",
            fault=[replies.with_text("")],
        ),
        must(
            "messages:answer:stop-reason",
            TYPES,
            "`stop_reason` is one of the values that the API defines.",
            fault=[replies.PARIS.patched("stop_reason", to="stop")],
        ),
        must(
            "messages:answer:usage",
            "issue litellm#24176",
            "`usage` counts `input_tokens` and `output_tokens` as integers.",
            fault=[replies.PARIS.without("usage", "output_tokens")],
        ),
        should(
            "messages:answer:request-id",
            "client SDKs",
            "A reply has the header `request-id`, which the SDKs show.",
            fault=[states(MESSAGE)],
        ),
        capability(
            should(
                "messages:answer:answers",
                TYPES,
                "The model answers a simple question.",
                fault=[replies.with_text("Rome.")],
            )
        ),
    ),
    good=[replies.PARIS],
)
def a_message_is_answered(trial: Trial) -> Steps:
    """Send a simple question."""
    exchange = yield from trial.message("What is the capital of France? Answer in one word.")
    message = trial.whole(exchange)
    is_object = at(message, "type") == "message" and at(message, "role") == "assistant"
    is_named = is_text(at(message, "id")) and is_text(at(message, "model"))
    trial.expect(
        "messages:answer:request-id", bool(exchange.headers.get("request-id")), "no header"
    )
    if not trial.expect("messages:answer:object", is_object and is_named, preview(message)):
        return
    content = listed(message, "content")
    are_blocks = bool(content) and all(is_text(at(block, "type")) for block in content)
    if trial.expect("messages:answer:content", are_blocks, preview(at(message, "content"))):
        empty = [
            block for block in content if at(block, "type") == "text" and not at(block, "text")
        ]
        trial.expect("messages:answer:text", not empty, preview(content))
    reason = at(message, "stop_reason")
    trial.expect("messages:answer:stop-reason", reason in REASONS, preview(reason))
    usage = at(message, "usage")
    is_counted = all(is_integer(at(usage, name)) for name in COUNTS)
    trial.expect("messages:answer:usage", is_counted, preview(usage))
    text = text_of(message)
    trial.expect("messages:answer:answers", "paris" in text.lower(), text or "no text")


@case(
    must(
        "messages:answer:call",
        TYPES,
        "A forced call is a `tool_use` block with an `id`, a `name` and an object as `input`, and "
        "the `stop_reason` is `tool_use`.",
        fault=[replies.CALL.patched("content", 0, "input", to='{"city": "Paris"}')],
    ),
    good=[replies.CALL],
)
def a_message_calls_a_tool(trial: Trial) -> Steps:
    """Force a call of a tool."""
    exchange = yield from trial.message(
        "What is the weather in Paris?",
        tools=[WEATHER],
        tool_choice={"type": "tool", "name": "get_weather"},
    )
    message = trial.whole(exchange)
    uses = [one for one in listed(message, "content") if at(one, "type") == "tool_use"]
    use = at(uses, 0)
    is_whole = is_text(at(use, "id")) and at(use, "name") == "get_weather"
    is_object = isinstance(at(use, "input"), dict)
    is_ended = at(message, "stop_reason") == "tool_use"
    trial.expect("messages:answer:call", is_whole and is_object and is_ended, preview(message))


@case(
    must(
        "messages:answer:system-inside",
        "issue ollama#17774",
        "A message with the role `system` among the messages is accepted: Claude Code sends one.",
        fault=[refused("messages.1.role: unsupported role 'system'")],
    ),
    good=[replies.PARIS],
)
def a_system_message_comes_later(trial: Trial) -> Steps:
    """Send a system message behind the user's."""
    messages = [
        {"role": "user", "content": "Say hello."},
        {"role": "system", "content": "Be brief."},
    ]
    exchange = yield from trial.message(messages)
    trial.supported(exchange)
    trial.expect("messages:answer:system-inside", exchange.is_ok, exchange.came)


@case(
    must(
        "messages:answer:foreign-signature",
        "issue CLIProxyAPI#2172",
        "Thinking with the signature of another server is accepted: a refusal ends the session.",
        fault=[refused("Invalid `signature` in `thinking` block")],
    ),
    good=[replies.PARIS],
)
def thinking_of_another_server_comes_back(trial: Trial) -> Steps:
    """Send a thinking block that the server has not written."""
    thought = {"type": "thinking", "thinking": "A greeting.", "signature": "EqQBCgIYAhIM"}
    messages = [
        {"role": "user", "content": "Say hello."},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "Again."},
    ]
    exchange = yield from trial.message(messages)
    trial.supported(exchange)
    trial.expect("messages:answer:foreign-signature", exchange.is_ok, exchange.came)


@case(
    must(
        "messages:answer:counted",
        TYPES,
        "`POST /messages/count_tokens` returns the `input_tokens` of a request as an integer.",
        fault=[replies.COUNT.patched("input_tokens", to="12")],
    ),
    good=[replies.COUNT],
)
def the_tokens_of_a_message_are_counted(trial: Trial) -> Steps:
    """Count the tokens of a message."""
    body = trial.message_body("Say hello.")
    del body["max_tokens"]
    exchange = yield from trial.post("/messages/count_tokens", body)
    count = at(trial.whole(exchange), "input_tokens")
    trial.expect("messages:answer:counted", is_integer(count) and count > 0, preview(count))
