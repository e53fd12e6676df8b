"""The model `demo` at a backend that refuses what some backends refuse (`antiphon demo-backend
--refuse`).

A client or a gateway in front of it shows what it makes of such a refusal. The words are those of
real backends.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from antiphon.errors import ClientError
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.checks import Fields
from antiphon.upstream.scripted import Answer


class RefusedFeatures(Struct, frozen=True):
    """What a backend refuses, and its words."""

    is_met: Callable[[Fields], bool]
    """Whether a request has it."""
    words: str
    status: int = 400


def _later_system(request: Fields) -> bool:
    return any(
        message.get("role") in ("system", "developer") for message in request["messages"][1:]
    )


def _calls(request: Fields) -> list[Any]:
    return [call for message in request["messages"] for call in message.get("tool_calls") or ()]


def _odd_arguments(request: Fields) -> bool:
    return not all(
        _is_object((call.get("function") or {}).get("arguments", "")) for call in _calls(request)
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _odd_schema(request: Fields) -> bool:
    schemas = [tool["function"].get("parameters") or {} for tool in request.get("tools") or ()]
    return any(
        schema.get("type") != "object"
        or not isinstance(schema.get("properties"), dict)
        or not schema.keys().isdisjoint({"oneOf", "anyOf", "allOf"})
        for schema in schemas
    )


def _forced(request: Fields) -> bool:
    is_off = (request.get("thinking") or {}).get("type") == "disabled" or request.get(
        "enable_thinking"
    ) is False
    return request.get("tool_choice") not in (None, "auto", "none") and not is_off


def _long_ids(request: Fields) -> bool:
    ids = [call.get("id", "") for call in _calls(request)]
    ids += [
        message.get("tool_call_id", "")
        for message in request["messages"]
        if message.get("role") == "tool"
    ]
    return any(len(each) != 9 or not each.isalnum() for each in ids)


def _unsigned(request: Fields) -> bool:
    first = [
        message["tool_calls"][0] for message in request["messages"] if message.get("tool_calls")
    ]
    return not all(
        (call.get("extra_content") or {}).get("google", {}).get("thought_signature")
        for call in first
    )


REFUSALS: Mapping[str, RefusedFeatures] = {
    "messages.system": RefusedFeatures(_later_system, "System message must be at the beginning."),
    "calls.arguments": RefusedFeatures(
        _odd_arguments, "invalid params, invalid function arguments json string (2013)"
    ),
    "calls.ids": RefusedFeatures(
        _long_ids,
        "Tool call ids must be a-z, A-Z, 0-9: each tool call id must have a length of 9.",
        500,
    ),
    "calls.signatures": RefusedFeatures(
        _unsigned, "Function call is missing a thought_signature in functionCall parts."
    ),
    "calls.tools": RefusedFeatures(
        lambda request: bool(_calls(request)) and not request.get("tools"),
        "Bedrock doesn't support tool calling without `tools=` param specified.",
    ),
    "tools.schema": RefusedFeatures(
        _odd_schema, 'tools.function.parameters.type is required and must be "object"'
    ),
    "tools.forced": RefusedFeatures(_forced, "Thinking mode does not support this tool_choice"),
    "tools.format": RefusedFeatures(
        lambda request: bool(request.get("tools") and request.get("response_format")),
        "json mode cannot be combined with tool/function calling",
    ),
    "sampling.both": RefusedFeatures(
        lambda request: None not in (request.get("temperature"), request.get("top_p")),
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
    "sampling.value": RefusedFeatures(
        lambda request: request.get("temperature") not in (None, 1),
        "invalid temperature: only 1 is allowed for this model",
    ),
    "reasoning.effort": RefusedFeatures(
        lambda request: request.get("reasoning_effort") not in (None, "low", "high", "max"),
        "invalid reasoning_effort: (allowed: low, high, max)",
    ),
    "stream.always": RefusedFeatures(
        lambda request: not request.get("stream"),
        "This model only supports stream mode, please enable the stream.",
    ),
}
"""By name: those of `dialects.differences`, and of the forms that every backend receives."""


class RefusingDemoBackend(DemoBackend):
    """`demo` at a backend that refuses some requests. `names` are of `REFUSALS`."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self._refused = [REFUSALS[name] for name in names]

    def answer(self, path: str, request: Fields) -> Answer:
        """See `DemoBackend.answer`. Raises the refusal of a request that `demo` answers."""
        answer = super().answer(path, request)
        for refused in self._refused if "messages" in request else ():
            if refused.is_met(request):
                raise ClientError(refused.words, status=refused.status)
        return answer
