"""The backend `demo`: its endpoints, the requests that it refuses, and its embeddings."""

import base64
import hashlib
import struct
from typing import Any

from antiphon import ids
from antiphon.errors import ClientError
from antiphon.ids import Clock
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.validation.validate import fit
from antiphon.upstream.demo.answer import NAME, Fields, refused, say, to_answer, words_of
from antiphon.upstream.scripted import Answer, ScriptedBackend


class DemoBackend(ScriptedBackend):
    """A scripted Chat Completions model that says that it is one.

    The same request always gets the same answer, but for `created`. It streams word by word, `delay` seconds apart;
    reasons where `reasoning_effort` asks for it; calls the tools that the last user message names, or else the first
    one, with arguments that fit their schema; quotes a tool's output; keeps to `response_format`, `stop` and the
    token limit, a word being a token; and makes up `logprobs`. `[refuse]` in the user's text gets a refusal.
    """

    def __init__(self, *, delay: float = 0.0, now: Clock = ids.now) -> None:
        super().__init__(self._chat, name=NAME, models=[NAME], delay=delay)
        self._now = now

    def answer(self, path: str, request: Fields) -> Answer:
        """Return the answer to a request for chat completions, for a count of its tokens, or for embeddings."""
        self.requests.clear()  # it serves for days, where a script is for a test that looks at them
        if path == "/chat/completions/input_tokens":
            _check_model(fit(request, ChatCompletionRequest).model)
            return {"object": "response.input_tokens", "input_tokens": words_of(request["messages"])}
        if path == "/embeddings":
            _check_model(fit(request, EmbeddingsRequest).model)
            return embed(request)
        return super().answer(path, request)

    def _chat(self, request: Fields) -> Answer:
        _check_model(fit(request, ChatCompletionRequest).model)
        check(request)
        return to_answer(say(request), request, int(self._now()))


def _check_model(model: str) -> None:
    if model != NAME:
        text = f"The model '{model[:100]}' does not exist; the only one here is '{NAME}'."
        raise ClientError(text, status=404, code="model_not_found", param="model")


ROLES = ("developer", "system", "user", "assistant", "tool", "function")

PARTS = ("text", "refusal", "image_url", "input_audio", "file")

CHOICES = ("none", "auto", "required")

SCHEMES = ("data:", "http://", "https://")


def check(request: Fields) -> None:
    """Raise `ClientError` for what OpenAI's server refuses too, whatever the model."""
    called: set[Any] = set()
    for place, message in enumerate(request["messages"]):
        _check_message(message, f"messages[{place}]", called)
        called |= {call.get("id") for call in message.get("tool_calls") or () if isinstance(call, dict)}
    choice, form = request.get("tool_choice"), request.get("response_format")
    if isinstance(choice, str):
        _check_word(choice, CHOICES, "tool_choice")
    if choice not in (None, "none") and not request.get("tools"):
        text = "Invalid value for 'tool_choice': it is only allowed where 'tools' are given."
        raise refused("tool_choice", text, None)
    if isinstance(form, dict) and form.get("type") == "json_schema" and not isinstance(form.get("json_schema"), dict):
        raise _missing("response_format.json_schema")
    if (request.get("n") or 1) != 1:
        raise refused("n", "Unsupported value: demo gives one choice.", "unsupported_value")


def _check_message(message: Fields, path: str, called: set[Any]) -> None:
    role, content = message.get("role"), message.get("content")
    _check_word(role, ROLES, f"{path}.role")
    if content is None and role not in ("assistant", "function"):
        raise _missing(f"{path}.content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(part, f"{path}.content[{number}]")
    if role == "tool" and message.get("tool_call_id") not in called:
        text = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
        raise refused(f"{path}.role", f"Invalid parameter: {text}", None)


def _check_part(part: Any, path: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    _check_word(kind, PARTS, f"{path}.type")
    if kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image  # bare, as some clients have it
        if not isinstance(url, str) or not url.startswith(SCHEMES):
            text = "Invalid image URL: expected a data URL or an http(s) URL."
            raise refused(f"{path}.image_url", text, "invalid_image_url")


def _check_word(value: Any, allowed: tuple[str, ...], path: str) -> None:
    if value not in allowed:
        listed = ", ".join(f"'{one}'" for one in allowed)
        raise refused(path, f"Invalid value: '{str(value)[:100]}'. Supported values are: {listed}.")


def _missing(path: str) -> ClientError:
    return refused(path, f"Missing required parameter: '{path}'.", "missing_required_parameter")


DIMENSIONS = 16
MOST_DIMENSIONS = 4096


def embed(request: Fields) -> Fields:
    """Return the answer to an embeddings request: a unit vector for each input.

    Raises `ClientError` for an encoding that is neither `float` nor `base64`, and for too many dimensions.
    """
    encoding = request.get("encoding_format") or "float"
    if encoding not in {"float", "base64"}:
        raise _misfit("encoding_format", f"expected 'float' or 'base64', but got '{encoding}' instead.")
    dimensions = request.get("dimensions") or DIMENSIONS
    if dimensions > MOST_DIMENSIONS:
        raise _misfit("dimensions", f"expected at most {MOST_DIMENSIONS}.")
    value = request["input"]
    inputs = [value] if isinstance(value, str) or all(isinstance(one, int) for one in value) else value
    if not all(isinstance(one, str | list) for one in inputs):
        raise _misfit("input", "expected texts, or lists of tokens.")
    vectors = [_vector(one, dimensions) for one in inputs]
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if encoding == "base64" else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(one.split() if isinstance(one, str) else one) for one in inputs)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": request["model"], "data": data, "usage": usage}


def _misfit(param: str, words: str) -> ClientError:
    return refused(param, f"Invalid '{param}': {words}")


def _vector(text: str | list[Any], dimensions: int) -> list[float]:
    octets = hashlib.shake_256(repr(text).encode()).digest(dimensions)
    numbers = [octet - 127.5 for octet in octets]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _base64(vector: list[float]) -> str:
    """Return the vector as little-endian 32-bit floats in base64, as the API has it."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
