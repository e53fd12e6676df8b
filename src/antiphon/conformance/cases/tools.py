"""The tools that cases offer, in both APIs' shapes."""

from typing import Any

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "The city's name."}},
    "required": ["city"],
    "additionalProperties": False,
}
"""A schema that is strict, and small."""

WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "Tell the weather in a city.",
    "parameters": CITY,
    "strict": True,
}

TIME: dict[str, Any] = {
    "type": "function",
    "name": "get_time",
    "description": "Tell the time in a city.",
    "parameters": CITY,
    "strict": True,
}

TOOLS = [WEATHER, TIME]


def for_chat(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a function tool in the shape of Chat Completions."""
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


CHAT_TOOLS = [for_chat(tool) for tool in TOOLS]

ASK_WEATHER = "What is the weather in Paris? Use get_weather."

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
