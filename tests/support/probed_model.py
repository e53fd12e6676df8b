"""A model with known strengths and weaknesses, at a server of a known family: what a probe of it
must find.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from antiphon.upstream.scripted import to_chunks
from tests.support.raw_http import received, speaking

Body = dict[str, Any]


class RefusedError(Exception):
    """The server rejects the request, with this status."""

    def __init__(self, status: int = 400, message: str = "No.") -> None:
        super().__init__(status)
        self.status = status
        self.message = message


@dataclass
class ProbedModel:
    """Answers Chat requests as a model with these properties does; `requests` are the bodies it was
    sent.
    """

    tools: str = "native"
    """`native`, `hermes` (calls as text), `refused`, or `ignored`."""
    reads_tools: bool = True
    """It calls a tool that its prompt describes."""
    obeys: bool = True
    """It does as the system message says."""
    parallel: bool = True
    forced: bool = True
    streams_calls: bool = True
    thinking: str = "none"
    control: str = "chat_template_kwargs"
    formats: tuple[str, ...] = ("json_object", "json_schema")
    holds: bool = True
    rejected: tuple[str, ...] = ()
    vision: bool = False
    takes_images: bool = True
    """A server that takes images may still serve a model that sees none."""
    roles: tuple[str, ...] = ("system", "developer")
    dropped_roles: tuple[str, ...] = ()
    """Roles that the template drops silently."""
    late_system: bool = True
    usage: bool = True
    streamed_usage: bool = True
    window: int = 4096
    truncates: bool = False
    """A longer prompt is cut at its beginning, silently."""
    broken: dict[str, int] = field(default_factory=dict)
    """By a text in the request: the status with which the server fails."""
    rejected_parameters: tuple[str, ...] = ()
    only_streams: bool = False
    requests: list[Body] = field(default_factory=list)
    stated: dict[str, Any] = field(default_factory=dict)
    """By path: what the server states beside the API."""
    listed: dict[str, Any] = field(
        default_factory=lambda: {"id": "m", "object": "model", "owned_by": "test"}
    )
    requested: list[str] = field(default_factory=list)
    """The paths of other requests."""

    def answer(self, request: Body) -> Body:
        """Return a completion. Raises `RefusedError`."""
        self.requests.append(request)
        text = json.dumps(request)
        if status := next((status for mark, status in self.broken.items() if mark in text), 0):
            raise RefusedError(status)
        if rejected := next((name for name in self.rejected_parameters if name in request), None):
            raise RefusedError(
                400, f"Unsupported parameter: '{rejected}' is not supported with this model."
            )
        if self.only_streams and not request.get("stream"):
            raise RefusedError(400, "This model only supports streaming.")
        messages = self._displayed(request["messages"])
        message = self._message(request, messages)
        finish = "stop"
        prompt = sum(len(str(one["content"])) for one in messages) // 4
        if prompt > self.window:
            raise RefusedError
        usage = self.streamed_usage if request.get("stream") else self.usage
        if message.get("tool_calls"):
            finish = "tool_calls"
        answer = {
            "object": "chat.completion",
            "choices": [
                {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
            ],
        }
        return answer | (
            {"usage": {"prompt_tokens": prompt, "completion_tokens": 5}} if usage else {}
        )

    def _displayed(self, messages: list[Body]) -> list[Body]:
        """The messages that the template shows the model.

        Raises `RefusedError` where it does not take them.
        """
        for place, one in enumerate(messages):
            if one["role"] in {"system", "developer"} and one["role"] not in (
                *self.roles,
                *self.dropped_roles,
            ):
                raise RefusedError
            if place and one["role"] == "system" and not self.late_system:
                raise RefusedError
        displayed = [one for one in messages if one["role"] not in self.dropped_roles]
        if not self.truncates:
            return displayed
        room = self.window * 4
        return [
            {**one, "content": one["content"][-room:]}
            for one in displayed
            if isinstance(one["content"], str)
        ]

    def _message(self, request: Body, messages: list[Body]) -> Body:
        if "tools" in request:
            if self.tools == "refused":
                raise RefusedError
            if calls := self._calls(request, messages):
                return calls
        if "response_format" in request:
            return {"content": self._formatted(request["response_format"])}
        return self._thought(request, self._reply(messages))

    def _calls(self, request: Body, messages: list[Body]) -> Body | None:
        text = messages[-1]["content"]
        is_forced = request.get("tool_choice") == "required"
        if (
            self.tools == "ignored"
            or (is_forced and not self.forced)
            or not (is_forced or "weather" in text)
        ):
            return None
        count = 2 if "Rome" in text and self.parallel else 1
        arguments = json.dumps({"city": "Paris"})
        if self.tools == "hermes" or (request.get("stream") and not self.streams_calls):
            return {
                "content": f'<tool_call>\n{{"name": "get_weather", "arguments": '
                f"{arguments}}}\n</tool_call>"
            }
        function = {"name": "get_weather", "arguments": arguments}
        calls = [
            {"id": f"call_{number}", "type": "function", "function": function}
            for number in range(count)
        ]
        return {"content": None, "tool_calls": calls}

    def _formatted(self, form: Body) -> str:
        if form["type"] not in self.formats:
            raise RefusedError
        alongside = form.get("schema") if "json_object_schema" in self.formats else None
        schema = json.dumps(form.get("json_schema") or alongside or {})
        if any(f'"{keyword}"' in schema for keyword in self.rejected):
            raise RefusedError
        return json.dumps(
            {"colour": "red"} if self.holds and "colour" in schema else {"text": "The sea is blue."}
        )

    def _reply(self, messages: list[Body]) -> str:
        last = messages[-1]["content"]
        if isinstance(last, list):
            if not self.takes_images:
                raise RefusedError
            return "Red." if self.vision else "I see no picture."
        if "Remember this word" in last:
            return "COBALT"
        if "Which word" in last:
            return "I do not know."
        if (
            self.reads_tools
            and "weather" in last
            and any("<tools>" in one["content"] for one in messages)
        ):
            return (
                '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
            )
        is_ordered = self.obeys and any(
            one["role"] != "user" and "PINEAPPLE" in one["content"] for one in messages
        )
        return "PINEAPPLE" if is_ordered else "Yes."

    def _thought(self, request: Body, reply: str) -> Body:
        off = {
            "chat_template_kwargs": request.get("chat_template_kwargs")
            == {"enable_thinking": False},
            "reasoning_effort": request.get("reasoning_effort") == "none"
            and "chat_template_kwargs" not in request,
            "enable_thinking": request.get("enable_thinking") is False,
        }
        if self.thinking == "none" or off.get(self.control):
            return {"content": reply}
        if self.thinking == "field":
            return {"content": reply, "reasoning_content": "Seven has no divisors."}
        opening = "<think>" if self.thinking == "tags" else ""
        return {"content": f"{opening}Seven has no divisors.</think>\n\n{reply}"}

    @asynccontextmanager
    async def serve(self, server: str = "") -> AsyncIterator[str]:
        """Serve it on loopback; the base URL. `server` is that header."""

        async def speak(reader: Any, writer: Any) -> None:
            while True:
                head, body = await received(reader)
                method, target, _ = head.decode().split(" ", 2)
                status, kind, stated = self.reply(method, target, body)
                headers = f"content-type: {kind}\r\ncontent-length: {len(stated)}\r\n"
                if server:
                    headers += f"server: {server}\r\n"
                writer.write(f"HTTP/1.1 {status} X\r\n{headers}\r\n".encode() + stated)
                await writer.drain()

        async with speaking(speak) as url:
            yield url

    def reply(self, method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        """Return status, media type and body for one request."""
        if path == "/v1/chat/completions":
            request = json.loads(body)
            try:
                answer = self.answer(request)
            except RefusedError as error:
                return (
                    error.status,
                    "application/json",
                    json.dumps({"error": {"message": error.message}}).encode(),
                )
            if not request.get("stream"):
                return 200, "application/json", json.dumps(answer).encode()
            chunks = [
                b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in to_chunks(answer)
            ]
            return 200, "text/event-stream", b"".join(chunks) + b"data: [DONE]\n\n"
        self.requested.append(f"{method} {path}")
        stated = {"/v1/models": {"object": "list", "data": [self.listed]}} | self.stated
        if path not in stated:
            return 404, "application/json", b"{}"
        return 200, "application/json", json.dumps(stated[path]).encode()
