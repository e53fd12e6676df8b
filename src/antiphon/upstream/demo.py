"""The built-in model `demo`: a scripted Chat Completions model, for when no real one is near."""

import base64
import hashlib
import json
import math
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon import ids
from antiphon.errors import ClientError
from antiphon.ids import Clock
from antiphon.protocol.passthrough import ChatCompletionRequest, EmbeddingsRequest
from antiphon.protocol.validation.validate import fit
from antiphon.upstream.demo_values import NoExampleError, example_of
from antiphon.upstream.scripted import Answer, Chunk, ScriptedBackend

NAME = "demo"

Fields = dict[str, Any]
"""A JSON object, such as a request, a message or a delta."""


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
            return {"object": "response.input_tokens", "input_tokens": _words_of(request["messages"])}
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


def _refused(param: str, message: str, code: str | None = "invalid_value") -> ClientError:
    return ClientError(message, code=code, param=param)


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
        raise _refused("tool_choice", text, None)
    if isinstance(form, dict) and form.get("type") == "json_schema" and not isinstance(form.get("json_schema"), dict):
        raise _missing("response_format.json_schema")
    if (request.get("n") or 1) != 1:
        raise _refused("n", "Unsupported value: demo gives one choice.", "unsupported_value")


def _check_message(message: Fields, path: str, called: set[Any]) -> None:
    role, content = message.get("role"), message.get("content")
    _check_word(role, ROLES, f"{path}.role")
    if content is None and role not in ("assistant", "function"):
        raise _missing(f"{path}.content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(part, f"{path}.content[{number}]")
    if role == "tool" and message.get("tool_call_id") not in called:
        text = "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
        raise _refused(f"{path}.role", f"Invalid parameter: {text}", None)


def _check_part(part: Any, path: str) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    _check_word(kind, PARTS, f"{path}.type")
    if kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image  # bare, as some clients have it
        if not isinstance(url, str) or not url.startswith(SCHEMES):
            text = "Invalid image URL: expected a data URL or an http(s) URL."
            raise _refused(f"{path}.image_url", text, "invalid_image_url")


def _check_word(value: Any, allowed: tuple[str, ...], path: str) -> None:
    if value not in allowed:
        listed = ", ".join(f"'{one}'" for one in allowed)
        raise _refused(path, f"Invalid value: '{str(value)[:100]}'. Supported values are: {listed}.")


def _missing(path: str) -> ClientError:
    return _refused(path, f"Missing required parameter: '{path}'.", "missing_required_parameter")


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

Call = tuple[str, str]
"""A function's name, and its arguments as JSON."""


@dataclass(frozen=True, slots=True)
class Said:
    """One answer: reasoning, then one of the others. `calls` may be several."""

    reasoning: str = ""
    text: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)


def say(request: Fields) -> Said:
    """Return what the model says. Raises `ClientError` for what it cannot do."""
    messages = request["messages"]
    text = next((_text_of(one.get("content")) for one in reversed(messages) if one.get("role") == "user"), "")
    reasoning = " ".join(THOUGHTS[: EFFORTS.get(request.get("reasoning_effort"), len(THOUGHTS))])
    if REFUSE in text:
        return Said(reasoning, refusal="I am sorry, but a script that is told to refuse refuses.")
    outputs = _tool_outputs(messages)
    if made := _calls(request, text, answered=bool(outputs)):
        return Said(reasoning, calls=made)
    return Said(reasoning, text=_formatted(request.get("response_format") or {}, text) or _talk(text, outputs))


def _text_of(content: Any) -> str:
    """Return the text of a message's content; a part that is none is named, such as `[image_url]`."""
    if isinstance(content, list):
        return " ".join(_part_text(part) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _part_text(part: Fields) -> str:
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else f"[{part.get('type')}]"


def _tool_outputs(messages: list[Fields]) -> list[str]:
    """Return the outputs with which the messages end."""
    outputs: list[str] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        outputs.append(_text_of(message.get("content")))
    return outputs[::-1]


def _words_of(messages: list[Fields]) -> int:
    return sum(len(_text_of(message.get("content")).split()) for message in messages)


def _formatted(response_format: Fields, text: str) -> str:
    """Return the JSON that the request asks for; empty where it asks for text."""
    match response_format.get("type"):
        case None | "text":
            return ""
        case "json_object":
            return json.dumps({"model": NAME, "is_scripted": True, "you_said": _quoted(text)})
        case "json_schema":
            schema = response_format["json_schema"].get("schema")
            return _example(schema or {"type": "object"}, text, "response_format", "response_format")
    words = f"Invalid value: '{response_format['type']}'."
    raise _refused("response_format", f"{words} Supported values are: 'text', 'json_object', and 'json_schema'.")


def _example(schema: Any, text: str, what: str, param: str) -> str:
    """Return a value that fits a schema, as JSON. Raises `ClientError` where none is found."""
    try:
        return json.dumps(example_of(schema, text))
    except NoExampleError as error:
        raise _refused(param, f"Invalid schema for {what}: {error}") from None


def _talk(text: str, outputs: list[str]) -> str:
    said = f"You said: {_quoted(text)}" if text else "You said nothing that I can repeat."
    if outputs:
        said = "The tool answered: " + " and ".join(_quoted(output) or "nothing" for output in outputs)
    return f"I am demo, Antiphon's scripted model. {said}"


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def _calls(request: Fields, text: str, *, answered: bool) -> list[Call]:
    """Return the calls to make: the functions that the user's text names, else the first; none where none may be.

    Where tools have `answered`, more is called only where a call is required.

    Raises `ClientError` for a tool that is no function, a choice of a function that is not there, and a schema of
    which no example is found.
    """
    tools = enumerate(request.get("tools") or [])
    functions = {_function_name(tool, f"tools[{place}]"): tool["function"] for place, tool in tools}
    offered, choice = _chosen(functions, request.get("tool_choice"))
    if choice == "none" or not offered or (choice == "auto" and answered):
        return []
    named = [name for name in offered if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]
    most = 1 if request.get("parallel_tool_calls") is False or not named else len(named)
    return [(name, _arguments(name, offered[name], text)) for name in (named or list(offered))[:most]]


def _chosen(functions: Fields, choice: Any) -> tuple[Fields, str]:
    """Return the functions that may be called, and whether that is `none`, `auto` or `required`."""
    if not isinstance(choice, dict):
        return functions, choice or "auto"
    allowed = choice.get("allowed_tools")
    tools = allowed.get("tools") if isinstance(allowed, dict) else [choice]
    names = {_function_name(tool, "tool_choice") for tool in tools or ()}
    if missing := names - functions.keys():
        raise _refused("tool_choice", f"Tool choice '{min(missing)}' not found in 'tools' parameter.")
    mode = allowed.get("mode") if isinstance(allowed, dict) else "required"
    return {name: function for name, function in functions.items() if name in names}, mode or "auto"


def _function_name(tool: Any, path: str) -> str:
    """Return the name of a tool or a choice, which must be a function: there are no other kinds here."""
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise _refused(path, f"Invalid '{path}': demo calls functions only, and each must have a name.")
    return name


def _arguments(name: str, function: Fields, text: str) -> str:
    parameters = function.get("parameters")
    schema = {"type": "object", **(parameters if isinstance(parameters, dict) else {})}
    # The name of a function is no word that an argument would hold.
    text = re.sub(re.escape(name), "", text, flags=re.IGNORECASE)
    return _example(schema, text, f"function '{name}'", "tools")


def to_answer(said: Said, request: Fields, created: int) -> list[Chunk]:
    """Return the chunks. The last one has the usage and no choice; a stream has it only where it asks for it."""
    # Ids are the same for the same conversation, streamed or not, and no other.
    name = hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()[:24]
    deltas = list(_deltas(said, request, name))
    # No limit is said by -1 to LM Studio and llama.cpp.
    limit = request.get("max_completion_tokens") or request.get("max_tokens") or -1
    kept = deltas[:limit] if limit > 0 else deltas
    finish_reason = "length" if len(kept) < len(deltas) else "tool_calls" if said.calls else "stop"
    choices = [_choice({"role": "assistant"}), *(_choice(delta, logprobs=_logprobs(delta, request)) for delta in kept)]
    choices.append(_choice({}, finish_reason))
    head = {"id": f"chatcmpl-{name}", "object": "chat.completion.chunk", "created": created, "model": request["model"]}
    chunks = [{**head, "choices": [choice]} for choice in choices]
    if not request.get("stream") or (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": _usage(request, kept)})
    return chunks


def _words(text: str) -> list[str]:
    """Return the words of a text, each with the blanks before it; joined they are the text."""
    return re.findall(r"\s*\S+(?:\s+$)?|\s+$", text)


OTHERS = tuple(dict.fromkeys(_words(" ".join(THOUGHTS))))
"""Tokens that could have stood in a token's place: more than can be asked for."""


def _deltas(said: Said, request: Fields, name: str) -> Iterator[Fields]:
    """Give the deltas of an answer, each worth a token."""
    yield from ({"reasoning_content": word} for word in _words(said.reasoning))
    yield from ({"content": word} for word in _words(_stopped(said.text, request.get("stop") or [])))
    yield from ({"refusal": word} for word in _words(said.refusal))
    for index, (function, arguments) in enumerate(said.calls):
        opening = {"name": function, "arguments": ""}
        yield _call(index, id=f"call_{name}_{index}", type="function", function=opening)
        yield from (_call(index, function={"arguments": word}) for word in _words(arguments))


def _call(index: int, **fields: Any) -> Fields:
    return {"tool_calls": [{"index": index, **fields}]}


def _stopped(text: str, stops: str | list[str]) -> str:
    listed = [stops] if isinstance(stops, str) else stops
    places = (text.find(stop) for stop in listed if stop)
    return text[: min((place for place in places if place >= 0), default=len(text))]


def _choice(delta: Fields, finish_reason: str | None = None, *, logprobs: Any = None) -> Fields:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return choice | ({"logprobs": logprobs} if logprobs else {})


def _logprobs(delta: Fields, request: Fields) -> Fields | None:
    """Return made-up log probabilities of a word of the text: likely, and its alternatives ever less so."""
    if not request.get("logprobs") or "content" not in delta:
        return None
    word = delta["content"]
    doubt = (zlib.crc32(word.encode()) % 200 + 1) / 1000
    others = [_token(other, doubt / 2**place) for place, other in enumerate((o for o in OTHERS if o != word), start=1)]
    token = _token(word, 1 - doubt)
    return {"content": [{**token, "top_logprobs": [token, *others][: request.get("top_logprobs") or 0]}]}


def _token(text: str, probability: float) -> Fields:
    return {"token": text, "logprob": math.log(probability), "bytes": list(text.encode())}


def _usage(request: Fields, deltas: list[Fields]) -> Fields:
    prompt, reasoning = _words_of(request["messages"]), sum("reasoning_content" in delta for delta in deltas)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": len(deltas),
        "total_tokens": prompt + len(deltas),
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


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
    return _refused(param, f"Invalid '{param}': {words}")


def _vector(text: str | list[Any], dimensions: int) -> list[float]:
    octets = hashlib.shake_256(repr(text).encode()).digest(dimensions)
    numbers = [octet - 127.5 for octet in octets]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _base64(vector: list[float]) -> str:
    """Return the vector as little-endian 32-bit floats in base64, as the API has it."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
