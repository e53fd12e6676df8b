"""Inputs that cases of several areas send: pictures, tokens, tools."""

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from antiphon_verify.case import Case, Script
from antiphon_verify.exchange import Exchange
from antiphon_verify.reading import at, is_number
from antiphon_verify.replies import error, states
from antiphon_verify.replies.bodies import RESPONSE
from antiphon_verify.replies.completions import COMPLETION
from antiphon_verify.requirement import Requirement
from antiphon_verify.trial import ExchangeSteps, Steps, Trial, is_completion, is_response

COLOURS = {"red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255)}

SIDE = 32
"""Pixels: some models require at least 28."""


def png(colour: str) -> str:
    """Return a square of the colour as the data URL of a PNG."""
    row = b"\x00" + bytes(COLOURS[colour]) * SIDE
    head = struct.pack(">2I5B", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = (("IHDR", head), ("IDAT", zlib.compress(row * SIDE)), ("IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind.encode(), body) for kind, body in chunks)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def accepted(requirement: Requirement, **parameters: Any) -> Case:
    """Return a case: a request with these parameters must return a completion, or a response.

    A rejection fails.
    """
    is_chat = requirement.id.startswith("chat:")
    fault = error("Invalid value.") if is_chat else error("240 validation errors for union", 422)
    name = "".join(one if one.isalnum() else "_" for one in requirement.id)
    return Case(
        f"{name}_is_taken",
        (replace(requirement, fault=[fault]),),
        _accepting(requirement.id, parameters),
        good=[states(COMPLETION if is_chat else RESPONSE)],
    )


def is_accepted(exchange: Exchange) -> bool:
    """Whether a completion was returned, or a response that ended without an error."""
    if is_completion(exchange.json):
        return exchange.is_ok
    return (
        exchange.is_ok
        and is_response(exchange.json)
        and at(exchange.json, "status") in ("completed", "incomplete")
    )


def _accepting(id: str, parameters: Mapping[str, Any]) -> Script:
    def script(trial: Trial) -> Steps:
        exchange = yield from _send(trial, id, parameters)
        trial.offered(exchange)
        trial.expect(id, is_accepted(exchange), exchange.came)

    script.__doc__ = f"Send {', '.join(parameters)}: {id.rpartition(':')[2].replace('-', ' ')}."
    return script


def _send(trial: Trial, id: str, parameters: Mapping[str, Any]) -> ExchangeSteps:
    if id.startswith("chat:"):
        return trial.chat(**{"messages": "Say hello.", **parameters})
    return trial.respond(**{"input": "Say hello.", **parameters})


TEA = "\u8336 \u0686\u0627\u06cc \U0001f375 \u202e\u202c \u00e9 e\u0301"
"""Han and Arabic letters, an emoji, bidirectional control characters, and an accent in both its
forms.
"""


def is_token(value: Any) -> bool:
    """Whether this is a token with its log probability."""
    number = at(value, "logprob")
    return isinstance(at(value, "token"), str) and is_number(number) and number <= 0


CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city's name."}},
    "required": ["city"],
    "additionalProperties": False,
}
"""A small strict schema."""

WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "Return the weather in a city.",
    "parameters": CITY,
    "strict": True,
}

TIME: dict[str, Any] = {
    "type": "function",
    "name": "get_time",
    "description": "Return the time in a city.",
    "parameters": CITY,
    "strict": True,
}

TOOLS = [WEATHER, TIME]


def for_chat(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a function tool in the shape of Chat Completions."""
    return {
        "type": "function",
        "function": {name: value for name, value in tool.items() if name != "type"},
    }


CHAT_TOOLS = [for_chat(tool) for tool in TOOLS]


def spelled(prompt: str, *calls: str) -> str:
    """Return a question and the calls that answer it, one per line: the scripted model `demo` makes
    only such calls.
    """
    return "\n".join((prompt, *(f"call {one}" for one in calls)))


def search(tool: str, query: str, **more: Any) -> str:
    """Return a search for `spelled`.

    Servers name the argument of their function `query` or `queries`.
    """
    return f"{tool} {json.dumps({'query': query, 'queries': [query], **more})}"


WEATHER_QUESTION = "What is the weather in Paris? Use get_weather."

NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "place": CITY,
        "weather": {"type": "string", "enum": ["sun", "rain"]},
        "stops": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "hour": {"type": "integer"}},
                "required": ["name", "hour"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["place", "weather", "stops"],
    "additionalProperties": False,
}
"""A strict schema with an object, an enum and a list in it."""

UNREACHABLE_URL = "http://127.0.0.1:9/mcp"


def mcp(url: str) -> dict[str, Any]:
    """Return an MCP tool at a URL."""
    return {
        "type": "mcp",
        "server_label": "nowhere",
        "server_url": url,
        "require_approval": "never",
    }
