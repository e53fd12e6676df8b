"""What `demo` says: a function of the request alone."""

import json
from dataclasses import dataclass, field
from typing import Any

from antiphon.errors import ClientError
from antiphon.upstream.demo.calls import Call, calls
from antiphon.upstream.demo.example import NoExampleError, example_of
from antiphon.upstream.demo.prompt import tool_outputs, user_text

LONGEST_QUOTE = 2000
"""Characters of the user's or a tool's words that an answer repeats."""

REFUSE = "[refuse]"
"""A user's text that holds this is refused, for who wants to see a refusal."""

THOUGHTS = (
    "The user wants an answer.",
    "I am a script, so there is nothing to think about.",
    "Still I was asked to reason, and this is what reasoning looks like.",
)
"""`low` effort thinks the first, `medium` two, any other all of them."""

EFFORTS = {None: 0, "none": 0, "minimal": 0, "low": 1, "medium": 2}


@dataclass(frozen=True, slots=True)
class Said:
    """One answer: reasoning, then one of the others. `calls` may be several."""

    reasoning: str = ""
    text: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)


def say(request: dict[str, Any]) -> Said:
    """Return what the model says. Raises `ClientError` for what it cannot do."""
    messages, text = request["messages"], user_text(request["messages"])
    reasoning = _reasoning(request)
    if REFUSE in text:
        return Said(reasoning, refusal="I am sorry, but a script that is told to refuse refuses.")
    outputs = tool_outputs(messages)
    if made := calls(request, text, answered=bool(outputs)):
        return Said(reasoning, calls=made)
    formatted = _formatted(request.get("response_format") or {}, text)
    return Said(reasoning, text=formatted or _talk(text, outputs))


def _reasoning(request: dict[str, Any]) -> str:
    return " ".join(THOUGHTS[: EFFORTS.get(request.get("reasoning_effort"), len(THOUGHTS))])


def _formatted(response_format: dict[str, Any], text: str) -> str:
    """Return the JSON that the request asks for; empty where it asks for text."""
    match response_format.get("type"):
        case None | "text":
            return ""
        case "json_object":
            return json.dumps({"model": "demo", "is_scripted": True, "you_said": _quoted(text)})
        case "json_schema":
            return _of_schema(response_format.get("json_schema"), text)
        case other:
            raise _invalid(f"Invalid value: '{other}'. Supported values are: 'text', 'json_object', and 'json_schema'.")


def _of_schema(json_schema: Any, text: str) -> str:
    schema = json_schema.get("schema") if isinstance(json_schema, dict) else None
    try:
        return json.dumps(example_of(schema or {"type": "object"}, text))
    except NoExampleError as error:
        raise _invalid(f"Invalid schema for response_format: {error}") from None


def _talk(text: str, outputs: list[str]) -> str:
    if outputs:
        said = " and ".join(_quoted(output) or "nothing" for output in outputs)
        return f"I am demo, Antiphon's scripted model. The tool answered: {said}"
    if not text:
        return "I am demo, Antiphon's scripted model. You said nothing that I can repeat."
    return f"I am demo, Antiphon's scripted model. You said: {_quoted(text)}"


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def _invalid(message: str) -> ClientError:
    return ClientError(message, code="invalid_value", param="response_format")
