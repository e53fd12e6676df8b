"""A Chat Completions model that plays turns: it says what a test wrote down, and calls tools by
their own names.
"""

import itertools
import json
import re
from collections import deque
from dataclasses import dataclass
from typing import Any

from tests.support.replay import JSON, STREAM, Answer, ReplayBackend, delta, sse

MODELS = ("fake-model", "gpt-5", "gpt-5.5", "gpt-5.6-sol")
"""Codex chooses by these names which kinds of tools it sends."""


@dataclass(frozen=True)
class Call:
    """A tool as its client knows it, with the arguments of a function or the raw input of a custom
    tool.
    """

    name: str
    provided: dict[str, Any] | str
    namespace: str = ""


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    total_tokens: int = 15
    found: str = ""
    """The URL that a search of the backend's own finds before it answers."""
    is_cut: bool = False
    """Whether the connection breaks off after what it says, in a stream."""


SILENCE = Turn("pong")
"""What it says beside the turns."""


class Model(ReplayBackend):
    """`requests` are those that came since the last `play`; `turns` are left to be played.

    They are for requests in which the `cue` was said; whoever else asks, an agent of an agent say,
    hears `SILENCE`. A turn may also be the bytes of an answer.
    """

    api = "chat"
    """The API that it speaks, as the settings of a backend name it."""
    content_type = STREAM
    streams_by_default = False

    def __init__(self) -> None:
        super().__init__(self.answer_with_a_turn)
        self.models = [
            {"id": name, "object": "model", "created": 1, "owned_by": "test"} for name in MODELS
        ]
        self.turns: deque[Turn | Answer] = deque()
        self.cue = ""
        self._numbers = itertools.count(1)

    def play(self, *turns: Turn | Answer) -> None:
        """Answer the next requests with these turns."""
        self.turns = deque(turns)
        self.requests.clear()

    def sent_to(self, number: int = -1) -> str:
        """All that one request said to the model, as JSON."""
        return json.dumps(conversation_of(self.requests[number]))

    def offered_to(self, number: int = -1) -> list[str]:
        """The names of the functions that one request offered to the model."""
        return [function["name"] for function in offered(self.requests[number])]

    def answer_with_a_turn(self, request: dict[str, Any]) -> Answer:
        """Answer a request: with the next turn if it is cued, else with `SILENCE`."""
        is_cued = self.cue in json.dumps(conversation_of(request))
        turn = self.turns.popleft() if self.turns and is_cued else SILENCE
        if isinstance(turn, Answer):
            return turn
        missing = [call for call in turn.calls if find(offered(request), call) is None]
        if missing:
            turn = Turn(
                f"There is no {missing} among "
                f"{[function['name'] for function in offered(request)]}."
            )
        calls = [self._call(request, call) for call in turn.calls]
        if not request.get("stream", self.streams_by_default):
            return Answer([json.dumps(self.whole(turn, calls)).encode()], JSON)
        start, end = self.streamed(turn, calls)
        parts = [start] if turn.is_cut else [start, end]
        return Answer(parts, self.content_type, cut=turn.is_cut)

    def whole(self, turn: Turn, calls: list[dict[str, Any]]) -> dict[str, Any]:
        """A turn as a plain answer."""
        return plain(turn, calls)

    def streamed(self, turn: Turn, calls: list[dict[str, Any]]) -> tuple[bytes, bytes]:
        """A turn as it is streamed, and how the stream ends."""
        *deltas, finish, counts = chunks(turn, calls)
        return sse(*deltas, done=False), sse(finish, counts)

    def _call(self, request: dict[str, Any], call: Call) -> dict[str, Any]:
        function = find(offered(request), call)
        assert function is not None
        chosen = {"name": function["name"], "arguments": json.dumps(arguments(function, call))}
        return {"id": f"call_{next(self._numbers)}", "type": "function", "function": chosen}


def conversation_of(request: dict[str, Any]) -> Any:
    """The conversation of a request, in either API."""
    return request["messages"] if "messages" in request else request["input"]


def offered(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The functions that a request offers, in either API."""
    tools = request.get("tools") or []
    return [tool.get("function", tool) for tool in tools if tool["type"] == "function"]


def find(functions: list[dict[str, Any]], call: Call) -> dict[str, Any] | None:
    """The function that is this tool: by its whole name, however that was joined, by its own, or by
    a longer one.
    """
    whole = re.compile(f"{re.escape(call.namespace)}[^A-Za-z0-9]*{re.escape(call.name)}")
    for fits in (whole.fullmatch, call.name.__eq__, lambda name: name.endswith(call.name)):
        for function in functions:
            if fits(function["name"]):
                return function
    return None


def arguments(function: dict[str, Any], call: Call) -> dict[str, Any]:
    """The arguments of a function; the input of a custom tool goes into the only property that
    there is.
    """
    if isinstance(call.provided, dict):
        return call.provided
    (name,) = function["parameters"]["properties"]
    return {name: call.provided}


def pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def usage(turn: Turn) -> dict[str, int]:
    return {
        "prompt_tokens": turn.total_tokens - 5,
        "completion_tokens": 5,
        "total_tokens": turn.total_tokens,
    }


def chunks(turn: Turn, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A turn as it is streamed."""
    deltas = [delta(reasoning_content=piece) for piece in pieces(turn.reasoning)]
    deltas += [delta(content=piece) for piece in pieces(turn.text)]
    for index, call in enumerate(calls):
        function = call["function"]
        deltas.append(
            delta(tool_calls=[{**call, "index": index, "function": {**function, "arguments": ""}}])
        )
        deltas += [
            delta(tool_calls=[{"index": index, "function": {"arguments": piece}}])
            for piece in pieces(function["arguments"])
        ]
    return [
        *deltas,
        delta("tool_calls" if calls else "stop"),
        {"id": "chatcmpl-1", "choices": [], "usage": usage(turn)},
    ]


def plain(turn: Turn, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """A turn as a whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [choice],
        "usage": usage(turn),
    }
