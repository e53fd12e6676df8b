"""The model `demo`: what it takes, what it answers, and its embeddings."""

import base64
import hashlib
import struct
from collections.abc import Iterator
from typing import Any

from antiphon import ids
from antiphon.errors import ClientError
from antiphon.ids import Clock
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.validation.validate import fit
from antiphon.upstream.demo.answers import say, to_answer, words_of
from antiphon.upstream.scripted import Answer, ScriptedBackend

NAME = "demo"


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

    def answer(self, path: str, request: dict[str, Any]) -> Answer:
        """Return the answer to a request for chat completions, for a count of its tokens, or for embeddings."""
        self.requests.clear()  # it serves for days, where a script is for a test that looks at them
        if path == "/chat/completions/input_tokens":
            fit(request, ChatCompletionRequest)
            _check_model(request)
            return {"object": "response.input_tokens", "input_tokens": words_of(request["messages"])}
        if path == "/embeddings":
            fit(request, EmbeddingsRequest)
            _check_model(request)
            return embed(request)
        return super().answer(path, request)

    def _chat(self, request: dict[str, Any]) -> Answer:
        fit(request, ChatCompletionRequest)
        _check_model(request)
        check(request)
        return to_answer(say(request), request, int(self._now()))


def _check_model(request: dict[str, Any]) -> None:
    if request["model"] != NAME:
        raise ClientError(
            f"The model '{request['model'][:100]}' does not exist; the only one here is '{NAME}'.",
            status=404,
            code="model_not_found",
            param="model",
        )


ROLES = ("developer", "system", "user", "assistant", "tool", "function")

PARTS = ("text", "refusal", "image_url", "input_audio", "file")

CHOICES = ("none", "auto", "required")

SCHEMES = ("data:", "http://", "https://")


def check(request: dict[str, Any]) -> None:
    """Raise `ClientError` for what OpenAI's server refuses too, whatever the model."""
    called: set[Any] = set()
    for place, message in enumerate(request["messages"]):
        _check_message(message, f"messages[{place}]", called)
        called |= {call.get("id") for call in message.get("tool_calls") or () if isinstance(call, dict)}
    _check_tool_choice(request)
    _check_format(request.get("response_format"))
    if (request.get("n") or 1) != 1:
        raise ClientError("Unsupported value: demo gives one choice.", code="unsupported_value", param="n")


def _check_message(message: dict[str, Any], path: str, called: set[Any]) -> None:
    role, content = message.get("role"), message.get("content")
    _check_word(role, ROLES, f"{path}.role")
    if content is None and role not in ("assistant", "function"):
        raise _refused(
            f"{path}.content", f"Missing required parameter: '{path}.content'.", "missing_required_parameter"
        )
    for number, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(part, f"{path}.content[{number}]")
    if role == "tool" and message.get("tool_call_id") not in called:
        text = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
        )
        raise _refused(f"{path}.role", text, None)


def _check_part(part: Any, path: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    _check_word(kind, PARTS, f"{path}.type")
    for url in _urls(part):
        if not isinstance(url, str) or not url.startswith(SCHEMES):
            raise _refused(
                f"{path}.image_url", "Invalid image URL: expected a data URL or an http(s) URL.", "invalid_image_url"
            )


def _urls(part: dict[str, Any]) -> Iterator[Any]:
    """Give the URL of an image: in an object, or bare as some clients have it."""
    if part["type"] == "image_url":
        image = part.get("image_url")
        yield image.get("url") if isinstance(image, dict) else image


def _check_tool_choice(request: dict[str, Any]) -> None:
    choice = request.get("tool_choice")
    if choice is None:
        return
    if isinstance(choice, str):
        _check_word(choice, CHOICES, "tool_choice")
    if not request.get("tools") and choice != "none":
        raise _refused(
            "tool_choice", "Invalid value for 'tool_choice': it is only allowed where 'tools' are given.", None
        )


def _check_format(form: Any) -> None:
    if isinstance(form, dict) and form.get("type") == "json_schema" and not isinstance(form.get("json_schema"), dict):
        path = "response_format.json_schema"
        raise _refused(path, f"Missing required parameter: '{path}'.", "missing_required_parameter")


def _check_word(value: Any, allowed: tuple[str, ...], path: str) -> None:
    if not isinstance(value, str) or value not in allowed:
        listed = ", ".join(f"'{one}'" for one in allowed)
        raise _refused(path, f"Invalid value: '{str(value)[:100]}'. Supported values are: {listed}.", "invalid_value")


def _refused(param: str, message: str, code: str | None) -> ClientError:
    return ClientError(message, code=code, param=param)


DIMENSIONS = 16
MOST_DIMENSIONS = 4096


def embed(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to an embeddings request: a unit vector for each input.

    Raises `ClientError` for an encoding that is neither `float` nor `base64`, and for too many dimensions.
    """
    encoding = request.get("encoding_format") or "float"
    if encoding not in {"float", "base64"}:
        raise _invalid_embedding("encoding_format", f"expected 'float' or 'base64', but got '{encoding}' instead.")
    dimensions = request.get("dimensions") or DIMENSIONS
    if dimensions > MOST_DIMENSIONS:
        raise _invalid_embedding("dimensions", f"expected at most {MOST_DIMENSIONS}.")
    inputs = _inputs(request["input"])
    vectors = [_vector(one, dimensions) for one in inputs]
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if encoding == "base64" else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(one.split() if isinstance(one, str) else one) for one in inputs)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": request["model"], "data": data, "usage": usage}


def _inputs(value: Any) -> list[str | list[Any]]:
    """Return the inputs: a text or a list of tokens each."""
    is_one = isinstance(value, str) or all(isinstance(one, int) for one in value)
    inputs = [value] if is_one else value
    if not all(isinstance(one, str | list) for one in inputs):
        raise _invalid_embedding("input", "expected texts, or lists of tokens.")
    return inputs


def _vector(text: str | list[Any], dimensions: int) -> list[float]:
    octets = hashlib.shake_256(repr(text).encode()).digest(dimensions)
    numbers = [octet - 127.5 for octet in octets]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _base64(vector: list[float]) -> str:
    """Return the vector as little-endian 32-bit floats in base64, as the API has it."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _invalid_embedding(param: str, words: str) -> ClientError:
    return ClientError(f"Invalid '{param}': {words}", code="invalid_value", param=param)
