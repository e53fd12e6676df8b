"""What `demo` answers to a chat, and the chunks of which that consists."""

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from antiphon.errors import ClientError
from antiphon.upstream.demo.example import NoExampleError, example_of
from antiphon.upstream.scripted import Chunk

NAME = "demo"

Fields = dict[str, Any]
"""A JSON object, such as a request, a message or a delta."""

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


def words_of(messages: list[Fields]) -> int:
    """Return how many words, which are tokens here, the messages have."""
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
    raise refused("response_format", f"{words} Supported values are: 'text', 'json_object', and 'json_schema'.")


def _example(schema: Any, text: str, what: str, param: str) -> str:
    """Return a value that fits a schema, as JSON. Raises `ClientError` where none is found."""
    try:
        return json.dumps(example_of(schema, text))
    except NoExampleError as error:
        raise refused(param, f"Invalid schema for {what}: {error}") from None


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
        raise refused("tool_choice", f"Tool choice '{min(missing)}' not found in 'tools' parameter.")
    mode = allowed.get("mode") if isinstance(allowed, dict) else "required"
    return {name: function for name, function in functions.items() if name in names}, mode or "auto"


def _function_name(tool: Any, path: str) -> str:
    """Return the name of a tool or a choice, which must be a function: there are no other kinds here."""
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise refused(path, f"Invalid '{path}': demo calls functions only, and each must have a name.")
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
    prompt, reasoning = words_of(request["messages"]), sum("reasoning_content" in delta for delta in deltas)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": len(deltas),
        "total_tokens": prompt + len(deltas),
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


def refused(param: str, message: str, code: str | None = "invalid_value") -> ClientError:
    """Return the error for a parameter that cannot be used."""
    return ClientError(message, code=code, param=param)
