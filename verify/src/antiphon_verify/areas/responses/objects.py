"""The response object, key by key."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from antiphon_verify.case import case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.reading import MISSING, at, is_integer, is_number, is_text, listed, preview
from antiphon_verify.replies import streams
from antiphon_verify.replies.responses import objects as replies
from antiphon_verify.requirement import Requirement, may, must, should
from antiphon_verify.trial import Steps, Trial, is_response

Check = Callable[[Any], bool]

STATUSES = ("completed", "failed", "in_progress", "cancelled", "queued", "incomplete")

TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")


@case(
    must(
        "responses:objects:made",
        "spec 1",
        "A request with only a model and an input returns a response with output.",
        fault=[replies.GOOD.patched("output", to=[])],
    ),
    good=[replies.GOOD],
)
def a_response_is_created(trial: Trial) -> Steps:
    """Send a model and an input, and only the required parameters."""
    exchange = yield from trial.respond("Say hello.", max_output_tokens=MISSING)
    trial.supported(exchange)
    is_created = exchange.is_ok and bool(listed(exchange.json, "output"))
    trial.expect("responses:objects:made", is_created, exchange.came)


@case(
    must(
        "responses:objects:plain-by-default",
        "spec 2",
        "Without `stream`, the response is one JSON object, not a stream.",
        fault=[streams(STREAMS["answer"])],
    ),
    good=[replies.GOOD],
)
def a_response_is_no_stream_by_default(trial: Trial) -> Steps:
    """Send a request without `stream`."""
    exchange = yield from trial.respond("Say hello.", stream=MISSING)
    trial.supported(exchange)
    trial.expect("responses:objects:plain-by-default", is_response(exchange.json), exchange.came)


def is_or_null(check: Check) -> Check:
    """Return the check that also accepts null."""
    return lambda value: value is None or check(value)


def is_bool(value: Any) -> bool:
    """Whether the value is a boolean."""
    return isinstance(value, bool)


def is_one_of(*words: str) -> Check:
    """Return the check for one of some words."""
    return lambda value: isinstance(value, str) and value in words


def is_object(value: Any) -> bool:
    """Whether the value is an object."""
    return isinstance(value, dict)


def is_string(value: Any) -> bool:
    """Whether the value is a string."""
    return isinstance(value, str)


class Field(NamedTuple):
    """A key of the response, and the condition on its value."""

    requirement: Requirement
    key: str
    check: Check


def field(requirement: Requirement, key: str, check: Check, wrong: Any) -> Field:
    """Return the requirement on a key; `wrong` is a value that violates it."""
    return Field(replace(requirement, fault=[replies.GOOD.patched(key, to=wrong)]), key, check)


FIELDS = (
    field(must("responses:objects:id", "spec 3", "`id` is a non-empty string."), "id", is_text, ""),
    field(
        should(
            "responses:objects:id-prefix", "spec 3", "The id of a response begins with `resp_`."
        ),
        "id",
        lambda value: is_text(value) and value.startswith("resp_"),
        "chatcmpl-1",
    ),
    field(
        must("responses:objects:object", "spec 3", "`object` is `response`."),
        "object",
        is_one_of("response"),
        "chat.completion",
    ),
    field(
        must(
            "responses:objects:created-at",
            "spec 3",
            "`created_at` is a time in seconds since 1970.",
        ),
        "created_at",
        lambda value: is_number(value) and value > 1_000_000_000,
        "2026-11-20",
    ),
    field(
        should("responses:objects:created-at-integer", "spec 3", "`created_at` is an integer."),
        "created_at",
        is_integer,
        1763000000.5,
    ),
    field(
        must(
            "responses:objects:status",
            "spec 3",
            "`status` is one of the six values that the API defines.",
        ),
        "status",
        is_one_of(*STATUSES),
        "done",
    ),
    field(
        must("responses:objects:model", "spec 3", "`model` is the name of a model."),
        "model",
        is_text,
        None,
    ),
    field(
        must(
            "responses:objects:output",
            "spec 3",
            "`output` is a list of items, each an object with a string `type`.",
        ),
        "output",
        lambda value: isinstance(value, list) and all(is_text(at(one, "type")) for one in value),
        "Hello.",
    ),
    field(
        must(
            "responses:objects:parallel-tool-calls", "spec 3", "`parallel_tool_calls` is a boolean."
        ),
        "parallel_tool_calls",
        is_bool,
        None,
    ),
    field(
        must(
            "responses:objects:tool-choice",
            "spec 3",
            "`tool_choice` is a string or an object with a type.",
        ),
        "tool_choice",
        lambda value: is_text(value) or is_text(at(value, "type")),
        None,
    ),
    field(
        must(
            "responses:objects:tools",
            "spec 3",
            "`tools` is a list, empty if the request has no tools.",
        ),
        "tools",
        lambda value: value == [],
        None,
    ),
    field(
        must("responses:objects:usage", "spec 3", "The `usage` of an ended response is an object."),
        "usage",
        is_object,
        None,
    ),
    field(
        should(
            "responses:objects:instructions",
            "spec 3",
            "`instructions` is present, null if the request has none.",
        ),
        "instructions",
        lambda value: value is None,
        "",
    ),
    field(
        should(
            "responses:objects:metadata",
            "spec 3",
            "`metadata` is an object, empty if the request has none.",
        ),
        "metadata",
        lambda value: value == {},
        None,
    ),
    field(
        should("responses:objects:temperature", "open-responses", "`temperature` is a number."),
        "temperature",
        is_number,
        None,
    ),
    field(
        should("responses:objects:top-p", "open-responses", "`top_p` is a number."),
        "top_p",
        is_number,
        "1",
    ),
    field(
        should(
            "responses:objects:presence-penalty",
            "open-responses",
            "`presence_penalty` is a number.",
        ),
        "presence_penalty",
        is_number,
        None,
    ),
    field(
        should(
            "responses:objects:frequency-penalty",
            "open-responses",
            "`frequency_penalty` is a number.",
        ),
        "frequency_penalty",
        is_number,
        None,
    ),
    field(
        should("responses:objects:top-logprobs", "open-responses", "`top_logprobs` is an integer."),
        "top_logprobs",
        is_integer,
        None,
    ),
    field(
        should("responses:objects:background", "spec 3", "`background` is a boolean."),
        "background",
        is_bool,
        None,
    ),
    field(
        should("responses:objects:store", "spec 3", "`store` is a boolean."), "store", is_bool, None
    ),
    field(
        should(
            "responses:objects:max-output-tokens",
            "spec 3",
            "`max_output_tokens` is present, an integer or null.",
        ),
        "max_output_tokens",
        is_or_null(is_integer),
        "inf",
    ),
    field(
        should(
            "responses:objects:max-tool-calls",
            "spec 3",
            "`max_tool_calls` is present, an integer or null.",
        ),
        "max_tool_calls",
        is_or_null(is_integer),
        [],
    ),
    field(
        should(
            "responses:objects:previous-response-id",
            "spec 3",
            "`previous_response_id` is present, null at the beginning of a chain.",
        ),
        "previous_response_id",
        lambda value: value is None,
        "",
    ),
    field(
        should(
            "responses:objects:prompt-cache-key",
            "spec 3",
            "`prompt_cache_key` is present, a string or null.",
        ),
        "prompt_cache_key",
        is_or_null(is_string),
        1,
    ),
    field(
        should(
            "responses:objects:safety-identifier",
            "spec 3",
            "`safety_identifier` is present, a string or null.",
        ),
        "safety_identifier",
        is_or_null(is_string),
        1,
    ),
    field(
        should(
            "responses:objects:reasoning", "spec 3", "`reasoning` is present, an object or null."
        ),
        "reasoning",
        is_or_null(is_object),
        "low",
    ),
    field(
        should(
            "responses:objects:service-tier",
            "spec 3",
            "`service_tier` is one of the tiers that the API defines.",
        ),
        "service_tier",
        is_one_of(*TIERS),
        "free",
    ),
    field(
        should(
            "responses:objects:text",
            "spec 3",
            "`text` is an object with a `format` that has a type.",
        ),
        "text",
        lambda value: is_text(at(value, "format", "type")),
        {},
    ),
    field(
        should("responses:objects:truncation", "spec 3", "`truncation` is `auto` or `disabled`."),
        "truncation",
        is_one_of("auto", "disabled"),
        None,
    ),
    field(
        should("responses:objects:user", "spec 3", "`user` is present, a string or null."),
        "user",
        is_or_null(is_string),
        1,
    ),
)

EXTRAS = {
    # Not in the SDK's types, but sent by OpenAI; `output_text` belongs to the SDK, and some servers
    # send it too.
    *(
        "billing",
        "completed_at",
        "conversation",
        "error",
        "incomplete_details",
        "output_text",
        "moderation",
        "prompt",
    ),
    *(
        "prompt_cache_diagnostics",
        "prompt_cache_options",
        "prompt_cache_retention",
        "tool_usage",
        "access_programs",
    ),
    *("image", "input_transformations"),
}

KEYS = {field.key for field in FIELDS} | EXTRAS

ITEM_TYPES = {
    *(
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "file_search_call",
        "web_search_call",
    ),
    *(
        "computer_call",
        "computer_call_output",
        "program",
        "program_output",
        "tool_search_call",
        "tool_search_output",
    ),
    *(
        "additional_tools",
        "compaction",
        "image_generation_call",
        "code_interpreter_call",
        "local_shell_call",
    ),
    *(
        "local_shell_call_output",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "apply_patch_call_output",
    ),
    *(
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "custom_tool_call",
    ),
    *("custom_tool_call_output", "configuration_update", "item_reference", "compaction_trigger"),
}
"""The types of items (specification section 5)."""


@case(
    *(one.requirement for one in FIELDS),
    should(
        "responses:objects:completed-at",
        "spec 3",
        "`completed_at` is an integer if the response completed, otherwise null.",
        fault=[replies.GOOD.patched("completed_at", to=None)],
    ),
    must(
        "responses:objects:error",
        "spec 3",
        "`error` is set if the response failed, and null otherwise.",
        fault=[replies.GOOD.patched("error", to={})],
    ),
    must(
        "responses:objects:incomplete-details",
        "spec 3",
        "`incomplete_details` is set if the response was truncated, and null otherwise.",
        fault=[replies.GOOD.patched("incomplete_details", to={})],
    ),
    should(
        "responses:objects:ends",
        "spec 3",
        "`error` and `incomplete_details` are present, even if null.",
        fault=[replies.GOOD.without("error")],
    ),
    must(
        "responses:objects:item-ids",
        "open-responses 3",
        "Every output item has a unique `id`.",
        fault=[replies.GOOD.without("output", 0, "id")],
    ),
    should(
        "responses:objects:item-id-prefix",
        "spec 3",
        "The id of a message begins with `msg_`.",
        fault=[replies.GOOD.patched("output", 0, "id", to="1")],
    ),
    must(
        "responses:objects:item-statuses",
        "client ai-sdk",
        "Every message and call has a `status`.",
        fault=[replies.GOOD.without("output", 0, "status")],
    ),
    must(
        "responses:objects:item-types",
        "spec 5",
        "Every item type is one that the API defines, or an extension `slug:name`.",
        fault=[replies.GOOD.patched("output", 0, "type", to="vendor_thing")],
    ),
    may(
        "responses:objects:no-foreign-keys",
        "open-responses 6",
        "The response has no keys that the API does not define.",
        fault=[replies.GOOD.patched("x_vendor", to=1)],
    ),
    good=[replies.GOOD],
)
def a_plain_response_has_its_keys(trial: Trial) -> Steps:
    """Create a response with only a model and an input."""
    exchange = yield from trial.respond("Say hello.")
    response = trial.whole(exchange)
    for requirement, key, check in FIELDS:
        value = at(response, key)
        trial.expect(requirement.id, value is not MISSING and check(value), came(key, value))
    judge_end(trial, response)
    judge_items(trial, [item for item in listed(response, "output") if isinstance(item, dict)])
    foreign = sorted(key for key in response if key not in KEYS and ":" not in key)
    trial.expect("responses:objects:no-foreign-keys", not foreign, foreign)


def judge_end(trial: Trial, response: dict[str, Any]) -> None:
    """Judge the fields that describe how the response ended."""
    status = response.get("status")
    completed_at, error, details = (
        at(response, key) for key in ("completed_at", "error", "incomplete_details")
    )
    is_completed = status == "completed"
    is_right = is_integer(completed_at) if is_completed else completed_at is None
    trial.expect("responses:objects:completed-at", is_right, came("completed_at", completed_at))
    is_right = is_text(at(error, "message")) if status == "failed" else error in (None, MISSING)
    trial.expect("responses:objects:error", is_right, came("error", error))
    is_right = (
        is_text(at(details, "reason")) if status == "incomplete" else details in (None, MISSING)
    )
    trial.expect(
        "responses:objects:incomplete-details", is_right, came("incomplete_details", details)
    )
    missing = [key for key in ("error", "incomplete_details") if key not in response]
    trial.expect("responses:objects:ends", not missing, f"There is no {' and no '.join(missing)}.")


def judge_items(trial: Trial, items: list[dict[str, Any]]) -> None:
    """Judge what every output item must have."""
    if not items:
        return
    ids = [item.get("id") for item in items]
    are_set = all(map(is_text, ids)) and len(set(map(str, ids))) == len(ids)
    trial.expect("responses:objects:item-ids", are_set, ids)
    types = [item.get("type") for item in items]
    are_known = all(isinstance(one, str) and (one in ITEM_TYPES or ":" in one) for one in types)
    trial.expect("responses:objects:item-types", are_known, types)
    statuses = [item.get("status") for item in items if item.get("type") != "reasoning"]
    trial.expect(
        "responses:objects:item-statuses", all(map(is_one_of(*STATUSES), statuses)), statuses
    )
    messages = [item.get("id") for item in items if item.get("type") == "message"]
    if messages:
        are_named = all(isinstance(one, str) and one.startswith("msg_") for one in messages)
        trial.expect("responses:objects:item-id-prefix", are_named, messages)


def came(key: str, value: Any) -> str:
    """Return in words the value of a key."""
    return f"There is no `{key}`." if value is MISSING else f"`{key}` is {preview(value)}."
