"""The model that plays turns, behind Ollama's native API and behind the Responses API."""

import json
from typing import Any

from tests.support import native
from tests.support.replay import JSON, Answer
from tests.system.clients.model import Model, Turn, usage

Body = dict[str, Any]

REPORT = {
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 131_072},
    "capabilities": ["completion", "tools", "thinking"],
}
"""What Ollama reports about each of its models."""


REFUSED = {
    "message": "This model is only supported in v1/responses and not in v1/chat/completions.",
    "type": "invalid_request_error",
    "param": "model",
    "code": None,
}
"""OpenAI's words for a model without chat completions."""


class OllamaModel(Model):
    """It speaks Ollama's native API; `requests` are those of `/api/chat`."""

    api = "ollama"
    content_type = "application/x-ndjson"
    streams_by_default = True

    def answer_with_a_turn(self, request: Body) -> Answer:
        """Answer a request; one about a model takes no turn."""
        if b"/api/show " in self.heads[-1].split(b"\r\n")[0]:
            self.requests.pop()
            return Answer([json.dumps(REPORT).encode()], JSON)
        return super().answer_with_a_turn(request)

    def whole(self, turn: Turn, calls: list[Body]) -> Body:
        """A turn as a plain answer."""
        functions = [{**call, "function": _decoded(call["function"])} for call in calls]
        message = {"role": "assistant", "content": turn.text, "thinking": turn.reasoning}
        counts = usage(turn)
        return {
            "message": {**message, "tool_calls": functions},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": counts["prompt_tokens"],
            "eval_count": counts["completion_tokens"],
        }

    def streamed(self, turn: Turn, calls: list[Body]) -> tuple[bytes, bytes]:
        """A turn as it is streamed, and how the stream ends."""
        whole = self.whole(turn, calls)
        start = {"message": whole["message"], "done": False}
        end = {**whole, "message": {"role": "assistant", "content": ""}}
        return _line(start), _line(end)


class ResponsesModel(Model):
    """It speaks the Responses API, and no other."""

    api = "responses"

    def __init__(self) -> None:
        super().__init__()
        self.speaks_responses = True

    def answer_with_a_turn(self, request: Body) -> Answer:
        """Answer a request; a chat completion is refused, and takes no turn."""
        if "messages" in request:
            self.requests.pop()
            return Answer([json.dumps({"error": REFUSED}).encode()], JSON, 404)
        return super().answer_with_a_turn(request)

    def whole(self, turn: Turn, calls: list[Body]) -> Body:
        """A turn as a plain answer."""
        counts = {"total_tokens": turn.total_tokens, "input_tokens": turn.total_tokens - 5}
        return native.response(
            *_items(turn, calls), usage={**native.USAGE, **counts, "output_tokens": 5}
        )

    def streamed(self, turn: Turn, calls: list[Body]) -> tuple[bytes, bytes]:
        """A turn as it is streamed, and how the stream ends."""
        items = _items(turn, calls)
        events = [event for index, item in enumerate(items) for event in native.deltas(item, index)]
        completed = {"type": "response.completed", "response": self.whole(turn, calls)}
        return native.frames(*native.opening(), *events), native.frames(completed)


def _items(turn: Turn, calls: list[Body]) -> list[Body]:
    return [
        *([native.thought("", turn.reasoning)] if turn.reasoning else []),
        *([_search(turn.found)] if turn.found else []),
        *([native.message(turn.text)] if turn.text else []),
        *(
            native.call(call["function"]["name"], call["function"]["arguments"], call["id"])
            for call in calls
        ),
    ]


def _search(found: str) -> Body:
    """A web search that the backend ran."""
    source = {"type": "url", "url": found}
    action = {"type": "search", "query": "tide", "queries": ["tide"], "sources": [source]}
    return {"id": "ws_up", "type": "web_search_call", "status": "completed", "action": action}


def _decoded(function: Body) -> Body:
    """A function call with its arguments as an object."""
    return {**function, "arguments": json.loads(function["arguments"])}


def _line(value: Body) -> bytes:
    return json.dumps(value).encode() + b"\n"
