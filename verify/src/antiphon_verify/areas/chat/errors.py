"""Invalid requests to Chat Completions."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from antiphon_verify.case import Case, case
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import MISSING, at, is_text, listed
from antiphon_verify.refusal import KEYS, is_envelope
from antiphon_verify.replies import Reply, error, states, streams
from antiphon_verify.replies.chat import errors as replies
from antiphon_verify.requirement import Requirement, Stop, may, must, should
from antiphon_verify.samples import CHAT_TOOLS, CITY
from antiphon_verify.trial import Steps, Trial, present

API = "chat-api errors"

USER = {"role": "user", "content": "Say hello."}

JSON = {"content-type": "application/json"}

DEEP = 10_000

NOT_UTF8 = b"\xff\xfe"

PLACE = "here it goes"
"""A text for which bytes that are not UTF-8 are sent."""

Change = bytes | Mapping[str, Any]
"""What makes a request invalid: other bytes, or other parameters in a valid body; `MISSING` removes
one.
"""

CUT_JSON = b'{"model": "x", "messages": [{"role": "us'

MESSAGES_TEXT: dict[str, Any] = {"messages": "Say hello."}

TOOLS_OBJECT: dict[str, Any] = {"tools": {"get_weather": CITY}}

TOOL_CHOICE_ABSENT: dict[str, Any] = {
    "tools": CHAT_TOOLS,
    "tool_choice": {"type": "function", "function": {"name": "get_money"}},
}

FORM = (
    must(
        "chat:errors:never-ours",
        "issue vllm#55974",
        "An invalid chat request never returns a 5xx.",
        fault=[error("Internal Server Error", 500)],
    ),
    must(
        "chat:errors:envelope",
        API,
        "The body of an error is an object with `error`, which has a `message` and a `type`.",
        fault=[states({"detail": "It is wrong."}, 400)],
    ),
    should(
        "chat:errors:bad-request",
        API,
        "An invalid chat request returns 400.",
        fault=[error("It is wrong.", 422)],
    ),
    should(
        "chat:errors:four-keys",
        API,
        "An error has the keys `message`, `type`, `param` and `code`.",
        fault=[replies.REJECTED.without("error", "param")],
    ),
    may(
        "chat:errors:code-text",
        API,
        "An error's `code` is a string or null.",
        fault=[replies.REJECTED.patched("error", "code", to=400)],
    ),
)
"""Requirements on the form of every rejection."""


def bad_body(trial: Trial, change: Change, **more: Any) -> bytes:
    """Return the body of an invalid request: valid except for one error, so that nothing else can
    be the reason.
    """
    if isinstance(change, bytes):
        return change
    good = trial.chat_body([USER], **more)
    return json.dumps(present(good | dict(change))).encode().replace(PLACE.encode(), NOT_UTF8)


def is_refusal(exchange: Exchange) -> bool:
    """Whether the request was rejected as the client's error."""
    return 400 <= exchange.status < 500


def invalid(requirement: Requirement, change: Change) -> Case:
    """Return the case of an invalid request, which must be rejected."""
    name = requirement.id.rpartition(":")[2]
    row = replace(requirement, fault=[replies.ACCEPTED])

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.post(
            "/chat/completions", content=bad_body(trial, change), headers=JSON
        )
        trial.supported(exchange)
        trial.expect(row.id, is_refusal(exchange), exchange.came)
        judge_form(trial, row, exchange)

    script.__doc__ = f"Send an invalid request: {name.replace('-', ' ')}."
    return Case(f"chat_refused_{name.replace('-', '_')}", (row,), script, FORM, [replies.REJECTED])


def judge_form(trial: Trial, requirement: Requirement, exchange: Exchange) -> None:
    """Judge the form of a rejection; whether the request was rejected is a requirement of its
    own.
    """
    root = requirement.id if requirement.level == "must" else ""
    trial.expect("chat:errors:never-ours", exchange.status < 500, exchange.came, root=root)
    if not is_refusal(exchange):
        return
    trial.expect("chat:errors:bad-request", exchange.status == 400, exchange.came)
    error = at(exchange.json, "error")
    is_whole = is_envelope(exchange) and is_text(at(error, "type"))
    if trial.expect("chat:errors:envelope", is_whole, exchange.came):
        code = at(error, "code")
        trial.expect("chat:errors:four-keys", error.keys() >= KEYS, exchange.came)
        trial.expect("chat:errors:code-text", not code or isinstance(code, str), exchange.came)


CASES = (
    invalid(
        must(
            "chat:errors:empty-body",
            API,
            "A chat request with an empty body is rejected with a 4xx.",
        ),
        b"",
    ),
    invalid(
        must(
            "chat:errors:cut-json",
            API,
            "A chat request with truncated JSON is rejected with a 4xx.",
        ),
        CUT_JSON,
    ),
    invalid(
        must(
            "chat:errors:array", API, "A chat request body that is an array is rejected with a 4xx."
        ),
        b"[]",
    ),
    invalid(
        should(
            "chat:errors:deep-json",
            API,
            "A chat request body nested 10,000 levels deep is rejected with a 4xx.",
        ),
        b'{"messages": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    ),
    invalid(
        may(
            "chat:errors:not-utf8",
            "http",
            "A chat request body that is not UTF-8 is rejected with a 4xx.",
        ),
        {"messages": [USER | {"content": PLACE}]},
    ),
    invalid(
        must(
            "chat:errors:missing-messages",
            API,
            "A chat request without `messages` is rejected with a 4xx.",
        ),
        {"messages": MISSING},
    ),
    invalid(
        should(
            "chat:errors:empty-messages", API, "An empty list of `messages` is rejected with a 4xx."
        ),
        {"messages": []},
    ),
    invalid(
        must("chat:errors:messages-text", API, "A string as `messages` is rejected with a 4xx."),
        MESSAGES_TEXT,
    ),
    invalid(
        must(
            "chat:errors:message-text",
            API,
            "A string as one of the messages is rejected with a 4xx.",
        ),
        {"messages": ["Say hello."]},
    ),
    invalid(
        should(
            "chat:errors:message-without-role",
            API,
            "A chat message without `role` is rejected with a 4xx.",
        ),
        {"messages": [{"content": "Say hello."}]},
    ),
    invalid(
        should(
            "chat:errors:unknown-role",
            API,
            "A chat message with an unknown role is rejected with a 4xx.",
        ),
        {"messages": [USER | {"role": "visitor"}]},
    ),
    invalid(
        should(
            "chat:errors:missing-content",
            API,
            "A user message without `content` is rejected with a 4xx.",
        ),
        {"messages": [{"role": "user"}]},
    ),
    invalid(
        must(
            "chat:errors:content-number",
            API,
            "A number as the `content` of a chat message is rejected with a 4xx.",
        ),
        {"messages": [USER | {"content": 7}]},
    ),
    invalid(
        must(
            "chat:errors:content-type",
            API,
            "A chat content part of an unknown type is rejected with a 4xx.",
        ),
        {"messages": [USER | {"content": [{"type": "smell", "text": "x"}]}]},
    ),
    invalid(
        should(
            "chat:errors:missing-model",
            API,
            "A chat request without `model` is rejected with a 4xx.",
        ),
        {"model": MISSING},
    ),
    invalid(
        should(
            "chat:errors:model-number",
            API,
            "A number as the `model` of a chat request is rejected with a 4xx.",
        ),
        {"model": 7},
    ),
    invalid(
        should(
            "chat:errors:temperature-word",
            API,
            "A string as the `temperature` of a chat request is rejected with a 4xx.",
        ),
        {"temperature": "hot"},
    ),
    invalid(
        should(
            "chat:errors:temperature-high",
            API,
            "A chat `temperature` of 99 is rejected with a 4xx.",
        ),
        {"temperature": 99},
    ),
    invalid(
        should(
            "chat:errors:max-tokens-word", API, "A string as `max_tokens` is rejected with a 4xx."
        ),
        {"max_tokens": "many"},
    ),
    invalid(
        should(
            "chat:errors:stream-word",
            API,
            "A string as the `stream` of a chat request is rejected with a 4xx.",
        ),
        {"stream": "perhaps"},
    ),
    invalid(
        must(
            "chat:errors:tools-object",
            API,
            "An object as the `tools` of a chat request is rejected with a 4xx.",
        ),
        TOOLS_OBJECT,
    ),
    invalid(
        should(
            "chat:errors:tool-without-function",
            API,
            "A chat tool without its `function` is rejected with a 4xx.",
        ),
        {"tools": [{"type": "function"}]},
    ),
    invalid(
        should(
            "chat:errors:tool-without-name",
            API,
            "A chat tool without a function name is rejected with a 4xx.",
        ),
        {"tools": [{"type": "function", "function": {"parameters": CITY}}]},
    ),
    invalid(
        should(
            "chat:errors:tool-choice-word",
            API,
            "An unknown string as the `tool_choice` of a chat request is rejected with a 4xx.",
        ),
        {"tools": CHAT_TOOLS, "tool_choice": "some"},
    ),
    invalid(
        should(
            "chat:errors:tool-choice-absent",
            API,
            "A chat `tool_choice` that names a function missing from `tools` is rejected "
            "with a 4xx.",
        ),
        TOOL_CHOICE_ABSENT,
    ),
    invalid(
        should(
            "chat:errors:tool-choice-alone",
            API,
            "A chat `tool_choice` without `tools` is rejected with a 4xx.",
        ),
        {"tool_choice": "required"},
    ),
    invalid(
        should(
            "chat:errors:format-word",
            API,
            "An unknown `response_format` type is rejected with a 4xx.",
        ),
        {"response_format": {"type": "xml"}},
    ),
    invalid(
        should(
            "chat:errors:schema-missing",
            API,
            "A `json_schema` format without a schema object is rejected with a 4xx.",
        ),
        {"response_format": {"type": "json_schema"}},
    ),
)


@case(
    should(
        "chat:errors:unknown-model",
        API,
        "An unknown chat model is rejected with 404 or 400.",
        fault=[replies.ACCEPTED],
    ),
    should(
        "chat:errors:unknown-model-named",
        API,
        "The error for an unknown model has the code `model_not_found`.",
        fault=[replies.LOST.patched("error", "code", to="NotFoundError")],
    ),
    good=[replies.LOST],
)
def an_unknown_chat_model_is_refused(trial: Trial) -> Steps:
    """Name an unknown model."""
    body = bad_body(trial, {"model": "no-such-model-anywhere"})
    exchange = yield from trial.post("/chat/completions", content=body, headers=JSON)
    trial.supported(exchange)
    if not trial.expect("chat:errors:unknown-model", exchange.status in (400, 404), exchange.came):
        raise Stop("skipped", "The request was not rejected.")
    code = at(exchange.json, "error", "code")
    trial.expect("chat:errors:unknown-model-named", code == "model_not_found", exchange.came)


def invalid_stream(requirement: Requirement, change: Change) -> Case:
    """Return the case of an invalid request with `stream: true`, which must be rejected as any
    other.
    """
    name = requirement.id.rpartition(":")[2]
    row = replace(requirement, fault=[streams([{"error": {"message": "It is wrong."}}])])

    def script(trial: Trial) -> Steps:
        body = bad_body(trial, change, stream=True)
        exchange = yield from trial.post("/chat/completions", content=body, headers=JSON)
        trial.supported(exchange)
        if exchange.is_ok and any(listed(event, "choices") for event in exchange.events):
            raise Stop("skipped", "The server accepts such a request.")
        is_plain = not exchange.headers.get("content-type", "").startswith("text/event-stream")
        trial.expect(row.id, is_plain and is_refusal(exchange), exchange.came)

    script.__doc__ = f"Request a stream, with an error: {name.replace('-', ' ')}."
    return Case(f"chat_{name.replace('-', '_')}_refused", (row,), script, good=[replies.REJECTED])


STREAMING = (
    invalid_stream(
        must(
            "chat:errors:streamed",
            API,
            "With `stream: true`, invalid messages return an HTTP error, not a stream.",
        ),
        MESSAGES_TEXT,
    ),
    invalid_stream(
        must(
            "chat:errors:streamed-tools",
            API,
            "With `stream: true`, invalid tools return an HTTP error, not a stream.",
        ),
        TOOLS_OBJECT,
    ),
    invalid_stream(
        must(
            "chat:errors:streamed-tool-choice",
            API,
            "With `stream: true`, a rejected `tool_choice` returns an HTTP error, not a stream.",
        ),
        TOOL_CHOICE_ABSENT,
    ),
)


@case(
    must(
        "chat:errors:method",
        "http",
        "DELETE on `/chat/completions` returns 405 or 404.",
        fault=[replies.REJECTED, replies.ACCEPTED, replies.NO_PATH],
    ),
    must(
        "chat:errors:path",
        "http",
        "An unknown path below `/chat` returns 404.",
        fault=[replies.REJECTED, replies.NO_METHOD, states({"error": "Unexpected endpoint."})],
    ),
    good=[replies.REJECTED, replies.NO_METHOD, replies.NO_PATH],
)
def unknown_chat_paths_and_methods_are_rejected(trial: Trial) -> Steps:
    """DELETE a path that supports POST, and POST to a path that does not exist."""
    rejected = yield from trial.post("/chat/completions", content=b"", headers=JSON)
    trial.supported(rejected)
    refused = yield from trial.delete("/chat/completions")
    trial.expect("chat:errors:method", refused.status in (404, 405), refused.came)
    unknown = yield from trial.post("/chat/no-such-path", content=b"{}", headers=JSON)
    trial.expect("chat:errors:path", unknown.status == 404, unknown.came)


@case(
    must(
        "chat:errors:alive",
        "issue vllm#55974",
        "After an invalid chat request the server answers a valid one.",
        fault=[replies.REJECTED, Reply(0, fault="cut")],
    ),
    good=[replies.REJECTED, replies.ACCEPTED],
)
def chat_survives(trial: Trial) -> Steps:
    """Send malformed JSON, then a valid request."""
    first = yield from trial.post("/chat/completions", content=CUT_JSON, headers=JSON)
    second = yield from trial.chat("Say hello.")
    trial.supported(second)
    is_answer = second.is_ok and bool(listed(second.json, "choices"))
    trial.expect("chat:errors:alive", is_answer, f"{first.came}; then {second.came}")
