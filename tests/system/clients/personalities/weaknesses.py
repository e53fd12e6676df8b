"""Thirteen personalities: each is a Chat Completions server whose model has one weakness of real
models and servers.

A weakness is real: a server that rejects tools rejects every request that has some, a model that
writes calls as text never reports one otherwise. `about` names where the weakness comes from.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.replay import JSON, Answer, ReplayBackend, completion, delta, sse
from tests.system.clients.personalities.task import (
    CUE,
    DONE,
    LOST,
    REPEATED_REQUEST,
    SEEN,
    SIGN,
    SUMMARY,
    Call,
    Step,
    functions_of,
    next_step,
    summary,
    text_of,
)

MODEL = "hf.co/tide:7b"
EYES = "eyes:7b"
"""A model that sees."""

UNASKED = "How can I help you?"
"""Said by a model that sees no task."""

MOST_REQUESTS = 20
"""Requests after which a model gives up."""

Request = dict[str, Any]
Chunks = list[dict[str, Any]]
Calls = Callable[[Path], Mapping[Step, Call]]


@dataclass(frozen=True)
class Personality:
    """One weakness, by what it changes of a server without any."""

    name: str
    about: str
    write: Callable[[Call, Step, Request], Chunks] = field(
        default=lambda call, step, request: native(call)
    )
    """How the model makes a call."""
    send_text: Callable[[str, Request], Chunks] = field(
        default=lambda words, request: stated(words)
    )
    """How the model says something."""
    refuse: Callable[[Request], str] = field(default=lambda request: "")
    """The message of the error with which the server rejects a request; empty if it takes the
    request.
    """
    status: int = 400
    """The status of this error."""
    error: str = ""
    """The beginning of the error that the user must read if nothing corrects the request."""
    heed: Callable[[Step, Request], Step] = field(default=lambda step, request: step)
    """What the model does instead of the next step."""
    cuts: bool = False
    """Whether the server reads no more of a prompt than its window holds, and says nothing."""
    backend: str = ""
    """What Antiphon finds out about a server at its usual port, or the user configures for it."""
    model: str = ""
    """What the user configures for this model; `{window}` is the server's."""
    has_eyes: bool = False
    """Whether the user configures a model that describes images to this one."""
    has_schema: bool = False
    """Whether the user wants the answer to fit `SCHEMA`."""


class Actor(ReplayBackend):
    """The server of one personality, for one run of one client."""

    def __init__(self, personality: Personality, calls: Mapping[Step, Call], window: int) -> None:
        super().__init__(self._answer_request)
        self.models = [{"id": MODEL, "object": "model", "created": 1, "owned_by": "test"}]
        self.personality = personality
        self.calls = calls
        self.window = window

    def _answer_request(self, request: Request) -> Answer:
        tokens = tokens_of(request)
        if self.personality.cuts and tokens > self.window:
            request = cut(request, self.window)
            tokens = self.window
        refusal = self.personality.refuse(request)
        if refusal:
            return Answer(
                [json.dumps({"error": {"message": refusal}}).encode()],
                JSON,
                self.personality.status,
            )
        chunks = self._chunks(request)
        return Answer([sse(*chunks, {"choices": [], "usage": usage(tokens)})])

    def _chunks(self, request: Request) -> Chunks:
        state = self.personality.send_text
        if not any(
            CUE in text_of(message) or SUMMARY.search(text_of(message))
            for message in request["messages"]
        ):
            return stated(UNASKED)
        if "response_format" in request and REPEATED_REQUEST.match(
            text_of(request["messages"][-1])
        ):
            return state(DONE, request)
        if not functions_of(request):
            return stated(summary(request["messages"]))
        step = self.personality.heed(next_step(request["messages"]), request)
        if step is Step.END:
            return state(DONE, request)
        call = self.calls.get(step)
        if (
            call is None
            or call.name not in functions_of(request)
            or len(self.requests) > MOST_REQUESTS
        ):
            return stated(LOST)
        return self.personality.write(call, step, request)


def usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}


def tokens_of(request: Request) -> int:
    """Return the tokens of a prompt: of four characters each."""
    return len(json.dumps([request["messages"], request.get("tools")])) // 4


# How models speak.


def native(call: Call, arguments: str | None = None) -> Chunks:
    """A call as the API has it."""
    written = json.dumps(call.arguments) if arguments is None else arguments
    first = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    pieces = [written[start : start + 7] for start in range(0, len(written), 7)]
    return [
        delta(tool_calls=[first]),
        *(delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}]) for piece in pieces),
        delta("tool_calls"),
    ]


def stated(words: str) -> Chunks:
    """A text."""
    return [
        *(delta(content=words[start : start + 7]) for start in range(0, len(words), 7)),
        delta("stop"),
    ]


def _in_text(form: Callable[[Call], str]) -> Callable[[Call, Step, Request], Chunks]:
    return lambda call, step, request: stated(f"Let me go on.\n\n{form(call)}")


def _hermes(call: Call) -> str:
    return (
        f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': call.arguments})}\n</tool_call>"
    )


def _qwen_coder(call: Call) -> str:
    pairs = "".join(
        f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in call.arguments.items()
    )
    return f"<tool_call>\n<function={call.name}>\n{pairs}</function>\n</tool_call>"


def _glm(call: Call) -> str:
    pairs = "".join(
        f"<arg_key>{name}</arg_key>\n<arg_value>{value}</arg_value>\n"
        for name, value in call.arguments.items()
    )
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


def _mistral(call: Call) -> str:
    return f"[TOOL_CALLS]{json.dumps([{'name': call.name, 'arguments': call.arguments}])}"


def _llama(call: Call) -> str:
    return f"<|python_tag|>{json.dumps({'name': call.name, 'parameters': call.arguments})}"


def _no_tools(request: Request) -> str:
    return (
        f"registry.ollama.ai/library/{MODEL} does not support tools" if request.get("tools") else ""
    )


def _broken(call: Call, step: Step, request: Request) -> Chunks:
    """Breaks each call in another way; one of them, cut within a string, nobody can repair."""
    whole = json.dumps(call.arguments)
    if REPEATED_REQUEST.match(text_of(request["messages"][-1])):
        return native(call, whole)
    return native(
        call,
        {
            Step.LIST: whole[:-1],
            Step.READ: whole[: len(whole) // 2],
            Step.EDIT: whole.replace("\\n", "\n"),
            Step.TEST: f"{whole[:-1]},}}",
            Step.CORRECT: f"```json\n{whole}\n```",
        }[step],
    )


_COMPILED = {"type", "properties", "items", "required", "description"}


def _compiles(schema: Any) -> bool:
    """Whether the server's compiler knows every keyword of a schema."""
    if not isinstance(schema, dict):
        return True
    inner = [*schema.get("properties", {}).values(), schema.get("items")]
    return schema.keys() <= _COMPILED and all(map(_compiles, inner))


NO_GRAMMAR = "Failed to initialize samplers"


def _small_grammar(request: Request) -> str:
    schemas = [tool["function"]["parameters"] for tool in request.get("tools") or ()]
    return "" if all(map(_compiles, schemas)) else f"{NO_GRAMMAR}: failed to parse grammar"


def _looping(step: Step, request: Request) -> Step:
    """Reads the same file again and again, until something says so."""
    is_nudged = "calls were identical" in json.dumps(request["messages"])
    return Step.READ if step is Step.EDIT and not is_nudged else step


def _no_images(request: Request) -> str:
    hint = "if this is unexpected, you may need to provide the mmproj"
    return f"image input is not supported - hint: {hint}" if _images(request) else ""


def _unseeing(step: Step, request: Request) -> Step:
    """Looks at the sign before it edits, and does not go on before it knows what the sign says."""
    return (
        Step.INSPECT if step is Step.EDIT and SEEN not in json.dumps(request["messages"]) else step
    )


def _images(request: Request) -> list[str]:
    """Return the URLs of the images in a request."""
    contents = [message.get("content") for message in request["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def eyes() -> ReplayBackend:
    """Return the server of a model that describes the sign to other models; it knows no other
    image.
    """

    def poll(request: Request) -> Answer:
        is_sign = _images(request) == [f"data:image/png;base64,{SIGN}"]
        return Answer([completion(SEEN if is_sign else "It is dark.")], JSON)

    backend = ReplayBackend(poll)
    backend.models = [{"id": EYES, "object": "model", "created": 1, "owned_by": "test"}]
    return backend


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"result": {"type": "string"}, "fares": {"type": "integer"}},
    "required": ["result", "fares"],
    "additionalProperties": False,
}
"""What an answer must fit where the user wants it so."""


def _loose(words: str, request: Request) -> Chunks:
    """Forgets the schema until the answer is requested once more."""
    is_requested_again = REPEATED_REQUEST.match(text_of(request["messages"][-1]))
    return stated(
        json.dumps(
            {"result": words, "fares": 2}
            if is_requested_again
            else {"result": words, "fares": "two"}
        )
    )


def _open_thinking(call: Call, step: Step, request: Request) -> Chunks:
    return stated(f"<think>\nThe next thing is {step.name.lower()}. I go on.\n\n{_hermes(call)}")


def cut(request: Request, window: int) -> Request:
    """Return what a server reads that silently drops the oldest messages behind the system's until
    a prompt fits.
    """
    messages = list(request["messages"])
    while len(messages) > 2 and tokens_of({**request, "messages": messages}) > window:
        del messages[1]
    return {**request, "messages": messages}


PERSONALITIES = (
    Personality(
        "hermes text",
        "omlx#2565, hermes-agent#58197: a server without the parser",
        _in_text(_hermes),
    ),
    Personality("qwen-coder text", "Qwen3-Coder#475", _in_text(_qwen_coder)),
    Personality("glm text", "sglang#19925, vllm-mlx#797", _in_text(_glm)),
    Personality("mistral text", "mlx-lm#1374 and #1643", _in_text(_mistral)),
    Personality("llama text", "Rapid-MLX#700", _in_text(_llama)),
    Personality(
        "no tools", "Ollama with a template without tools", _in_text(_hermes), refuse=_no_tools
    ),
    Personality("broken JSON", "qwen-code#10692", _broken),
    Personality(
        "open schema",
        "a server that takes response_format and ignores it: ollama#8185",
        send_text=_loose,
        has_schema=True,
    ),
    Personality("small grammar", "llama.cpp#25895", refuse=_small_grammar, error=NO_GRAMMAR),
    Personality("loop", "repeats one call until it is told so", heed=_looping),
    Personality(
        "open thinking",
        "vllm#39056: calls in reasoning that was not closed",
        _open_thinking,
        send_text=lambda words, request: stated(f"<think>\nAll is done.\n</think>\n\n{words}"),
    ),
    Personality(
        "small window",
        "lmstudio-js#47, ollama#3839: drops what is too long, and says nothing",
        cuts=True,
        backend='dialect = "lmstudio"\n',
        model="context_window = {window}\n",
    ),
    Personality(
        "no vision",
        "llama.cpp without a projector rejects images: llama.cpp#13566, #15377",
        refuse=_no_images,
        status=500,
        error="This model does not accept images.",
        heed=_unseeing,
        model="vision = false\n",
        has_eyes=True,
    ),
)
