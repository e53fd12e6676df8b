"""What `demo` answers: a function of the request alone, so that the same request always gets the same answer.

It says that it is a script. Asked to reason it reasons first, given tools it calls them, told of a format it keeps to
it, and it stops at its token limit; a word counts as a token.
"""

import base64
import hashlib
import json
import struct
from typing import Any

from antiphon.backends.demo.example import example_of
from antiphon.backends.demo.wire import Said, as_chunks, as_completion
from antiphon.backends.scripted import Answer, Refused, ScriptedBackend

NAME = "demo"
DIMENSIONS = 16
"""Numbers in an embedding."""


class DemoBackend(ScriptedBackend):
    """The backend of the model `demo`."""

    def __init__(self) -> None:
        super().__init__(_answer, name=NAME, models=[NAME])


def _answer(path: str, request: dict[str, Any]) -> Answer:
    if request.get("model") != NAME:
        return _refuse(404, f"The model '{request.get('model')}' does not exist; here is only '{NAME}'.")
    if path == "/embeddings":
        return _embed(request)
    if not isinstance(request.get("messages"), list) or not request["messages"]:
        return _refuse(400, "'messages' must be a list that is not empty.")
    said = say(request)
    return as_chunks(said, request) if request.get("stream") else as_completion(said, request)


def say(request: dict[str, Any]) -> Said:
    """Return what the model says to a request."""
    said = Said(reasoning=_reasoning(request))
    text = _last_text(request["messages"], "user")
    if calls := _calls(request, text):
        said.calls = calls
    elif "[refuse]" in text:
        said.refusal = "I am told to refuse, and so I refuse."
    elif schema := _wanted_schema(request):
        said.text = json.dumps(example_of(schema, text))
    else:
        said.text = _talk(request["messages"], text)
    return said


def _talk(messages: list[dict[str, Any]], text: str) -> str:
    if messages[-1].get("role") == "tool":
        return f"I am demo, a scripted model. The tool answered: {_text_of(messages[-1].get('content'))}"
    return f"I am demo, Antiphon's scripted model: no thought went into this answer. You said: {text}"


def _reasoning(request: dict[str, Any]) -> str:
    if request.get("reasoning_effort") in {None, "none", "minimal"}:
        return ""
    return "The user wants an answer. I am a script, so I shall say what my script says."


def _wanted_schema(request: dict[str, Any]) -> dict[str, Any] | None:
    wanted = request.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema: dict[str, Any] = (wanted.get("json_schema") or {}).get("schema") or {"type": "object"}
        return schema
    if wanted.get("type") == "json_object":
        return {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    return None


def _calls(request: dict[str, Any], text: str) -> list[tuple[str, str]]:
    """Return the name and arguments of each call: the tools that the user names, or else the first of them."""
    offered = {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or () if "function" in tool}
    choice = request.get("tool_choice") or "auto"
    if isinstance(choice, dict):
        offered = {name: offered[name] for name in _chosen(choice) if name in offered}
        choice = choice.get("allowed_tools", {}).get("mode", "required")
    answered = request["messages"][-1].get("role") == "tool"
    if not offered or choice == "none" or (choice == "auto" and answered):
        return []
    named = [name for name in offered if name in text] or list(offered)[:1]
    if request.get("parallel_tool_calls") is False:
        named = named[:1]
    return [
        (name, json.dumps(example_of(offered[name].get("parameters") or {"type": "object"}, text))) for name in named
    ]


def _chosen(choice: dict[str, Any]) -> list[str]:
    if choice.get("type") == "allowed_tools":
        return [tool["function"]["name"] for tool in choice["allowed_tools"]["tools"]]
    return [choice["function"]["name"]]


def _last_text(messages: list[dict[str, Any]], role: str) -> str:
    return next((_text_of(one.get("content")) for one in reversed(messages) if one.get("role") == role), "")


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(part.get("text", f"[{part.get('type')}]") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _embed(request: dict[str, Any]) -> dict[str, Any]:
    texts = request["input"] if isinstance(request.get("input"), list) else [request.get("input")]
    data = [
        {"object": "embedding", "index": index, "embedding": _embedding(str(text), request.get("encoding_format"))}
        for index, text in enumerate(texts)
    ]
    tokens = sum(len(str(text).split()) for text in texts)
    return {"object": "list", "model": NAME, "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def _embedding(text: str, encoding: str | None) -> list[float] | str:
    """Return a unit vector that depends on the text alone, as numbers or as base64 of 32-bit floats."""
    octets = hashlib.sha256(text.encode("utf-8", "replace")).digest()[:DIMENSIONS]
    numbers = [octet - 127.5 for octet in octets]
    length = sum(number * number for number in numbers) ** 0.5
    vector = [number / length for number in numbers]
    if encoding != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *vector)).decode()


def _refuse(status: int, message: str) -> Refused:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Refused(status, {"error": error})
