"""A backend inside this process that answers from a script: for tests, for docs, and for the model
`demo`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, cast

from antiphon.errors import BackendError, ClientError
from antiphon.protocol.validation.validate import decode_object
from antiphon.upstream.backend import Listing, Reply

EVENT_STREAM = "text/event-stream"
JSON = "application/json"
DONE = b"data: [DONE]\n\n"

Chunk = dict[str, Any]
Completion = dict[str, Any]

Part = Chunk | bytes | BackendError
"""A piece of a streamed answer: a chunk, raw bytes, or the error with which the connection
breaks.
"""

Answer = bytes | dict[str, Any] | Sequence[Part] | tuple[int, Any] | BackendError
"""One answer of the model.

`bytes`: sent unchanged, JSON or an event stream. A dict: a completion, or any other object. A list:
the parts of a streamed answer; `[DONE]` follows chunks, and nothing follows raw bytes. A pair: a
status and its body, JSON or a text. An error: the connection fails.
"""

SCRIPTED = ("/chat/completions", "/embeddings")
"""The paths that a script serves; any other path is a 404, as at most servers."""

Script = Callable[[dict[str, Any]], Answer]
"""Receives the request, returns the answer. It can reject the request by raising `ClientError`."""


class ScriptedBackend:
    """A `Backend` with answers from a function, or one after the other from a list.

    A completion answers a streamed request as chunks, and chunks answer a plain one as a completion, so one script
    serves both; bytes are not converted. `requests` are the received bodies, as JSON objects. `models` are the models
    that requests can name. With `cut`, the bytes of an answer arrive that many at a time. `delay` is seconds between
    the parts. A request after the last answer of the list fails with a `BackendError`.

    >>> from antiphon import Antiphon, ScriptedBackend
    >>> answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "At 14:05."}}]}
    >>> backend = ScriptedBackend([answer], models=["qwen3"])
    >>> with Antiphon(backend=backend) as client:
    ...     print(client.responses.create(model="qwen3", input="When is the tide high?").output_text)
    At 14:05.
    >>> backend.requests[0]["messages"]
    [{'role': 'user', 'content': 'When is the tide high?'}]
    """  # noqa: E501 - a table, a diagram or an example

    url = ""

    def __init__(
        self,
        script: Script | Sequence[Answer],
        *,
        name: str = "scripted",
        models: Sequence[str] = ("scripted",),
        owner: str = "antiphon",
        cut: int = 0,
        delay: float = 0.0,
    ) -> None:
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self._script = script if callable(script) else _in_turn(script)
        self._models = [
            {"id": model, "object": "model", "created": 0, "owned_by": owner} for model in models
        ]
        self.cut = cut
        self._delay = delay

    async def post(self, path: str, body: bytes) -> Reply:
        """See `Backend.post`."""
        try:
            request = self.read(path, body)
            self.requests.append(request)
            return self._reply(self.answer(path, request), request)
        except ClientError as error:
            return self._reply((error.status, {"error": error.body()}), {})

    def read(self, path: str, body: bytes) -> dict[str, Any]:
        """Return a request as an object; a backend that accepts forms overrides this."""
        return decode_object(body, most_at_once=len(body))

    def answer(self, path: str, request: dict[str, Any]) -> Answer:
        """Return the answer to one request; a backend that distinguishes paths overrides this."""
        if path not in SCRIPTED:
            raise ClientError(f"The path '{path}' does not exist.", status=404, code="unknown_url")
        return self._script(request)

    async def get(self, path: str) -> Reply:
        """See `Backend.get`; a script reports nothing about itself."""
        return self._reply((404, {}), {})

    async def list_models(self) -> Listing:
        """See `Backend.list_models`."""
        return Listing(self._models, "antiphon")

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _reply(self, answer: Answer, request: dict[str, Any]) -> Reply:
        if isinstance(answer, BackendError):
            raise answer
        status, parts = _on_the_wire(answer, request)
        first = parts[0] if parts and isinstance(parts[0], bytes) else b""
        other = EVENT_STREAM if status < 400 else "text/plain"
        content_type = next(
            (kind for start, kind in _KINDS.items() if first.lstrip().startswith(start)), other
        )
        return Reply(status, {"content-type": content_type}, self._body(parts))

    async def _body(self, parts: Sequence[bytes | BackendError]) -> AsyncGenerator[bytes, None]:
        for number, part in enumerate(parts):
            # Even without delay the loop gets control: real bytes never arrive all at once.
            await asyncio.sleep(self._delay if number else 0)
            if isinstance(part, BackendError):
                raise part
            size = self.cut or len(part) or 1
            for start in range(0, len(part), size):
                yield part[start : start + size]


_KINDS = {b"{": JSON, b"[": JSON, b"<": "text/html"}
"""The type of a body, by its first byte; else it is an event stream, or the text of an error."""


def _on_the_wire(
    answer: Answer, request: dict[str, Any]
) -> tuple[int, Sequence[bytes | BackendError]]:
    """Return the status and the parts of the body."""
    if isinstance(answer, bytes):
        return 200, [answer]
    if isinstance(answer, dict):
        return 200, _completion(answer, request)
    if isinstance(answer, tuple) and isinstance(answer[0], int):
        status, body = answer
        return status, [body.encode() if isinstance(body, str) else _encode(body)]
    return 200, _parts(cast("Sequence[Part]", answer), bool(request.get("stream")))


def _completion(answer: dict[str, Any], request: dict[str, Any]) -> list[bytes]:
    if not request.get("stream") or "choices" not in answer:
        return [_encode(answer)]
    with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    return [*map(_event, to_chunks(answer, with_usage=with_usage)), DONE]


def _parts(parts: Sequence[Part], streamed: bool) -> Sequence[bytes | BackendError]:
    chunks = [part for part in parts if isinstance(part, dict)]
    if not streamed and len(chunks) == len(parts):
        return [_encode(to_completion(chunks))]
    encoded = [_event(part) if isinstance(part, dict) else part for part in parts]
    is_raw = any(isinstance(part, bytes) for part in parts)
    return encoded if is_raw else [*encoded, DONE]


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def _event(chunk: Chunk) -> bytes:
    return b"data: " + _encode(chunk) + b"\n\n"


def _in_turn(answers: Sequence[Answer]) -> Script:
    left = iter(answers)
    return lambda request: next(
        left,
        BackendError(f"The script has {len(answers)} answers, and this request needs one more."),
    )


SENT_ONCE = frozenset({"id", "type", "role", "index", "finish_reason"})
"""Texts of a choice that a later chunk repeats or replaces; any other text grows."""


def to_chunks(completion: Completion, *, with_usage: bool = True) -> Iterator[Chunk]:
    """Yield a completion as chunks, a field of the message each; `with_usage`, the last has the
    usage and no choice.
    """
    rest = {name: value for name, value in completion.items() if name not in {"choices", "usage"}}
    head = {**rest, "object": "chat.completion.chunk"}
    for number, choice in enumerate(completion["choices"]):
        for change in _changes(choice):
            yield {
                **head,
                "choices": [
                    {"index": choice.get("index", number), "finish_reason": None, **change}
                ],
            }
    if with_usage and completion.get("usage"):
        yield {**head, "choices": [], "usage": completion["usage"]}


def _changes(choice: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the content of each chunk of a choice; the logprobs accompany the text."""
    message = choice["message"]
    yield {"delta": {"role": message.get("role", "assistant")}}
    for name, value in message.items():
        if name == "tool_calls" and value:
            yield {"delta": {name: [{"index": index, **call} for index, call in enumerate(value)]}}
        elif value and name != "role":
            logprobs = choice.get("logprobs") if name == "content" else None
            yield {"delta": {name: value}} | ({"logprobs": logprobs} if logprobs else {})
    yield {"delta": {}, "finish_reason": choice.get("finish_reason")}


def to_completion(chunks: Sequence[Chunk]) -> Completion:
    """Return the completion that chunks add up to."""
    completion: Completion = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        completion |= {name: value for name, value in chunk.items() if value is not None}
        for choice in chunk.get("choices") or ():
            _grow(choices.setdefault(choice.get("index") or 0, {"delta": {}}), choice)
    listed = [_choice(index, choices[index]) for index in sorted(choices)]
    return completion | {"object": "chat.completion", "choices": listed}


def _choice(index: int, grown: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "refusal": None, **grown.pop("delta")}
    for call in message.get("tool_calls") or ():
        call.pop("index", None)
    return {"index": index, "message": message, "logprobs": None, "finish_reason": None, **grown}


def _grow(whole: dict[str, Any], change: dict[str, Any]) -> None:
    for name, value in change.items():
        before = whole.get(name)
        if value is None:
            continue
        if isinstance(value, dict):
            _grow(whole.setdefault(name, {}), value)
        elif isinstance(value, list):
            _extend(whole.setdefault(name, []), value)
        elif isinstance(value, str) and isinstance(before, str) and name not in SENT_ONCE:
            whole[name] = before + value
        else:
            whole[name] = value


def _extend(whole: list[Any], changes: list[Any]) -> None:
    """Add to a list; an element with the `index` of a member, such as a call's arguments, is a part
    of that member.
    """
    for change in changes:
        index = change.get("index") if isinstance(change, dict) else None
        if index is None:
            whole.append(change)
            continue
        member = next(
            (one for one in whole if isinstance(one, dict) and one.get("index") == index), None
        )
        if member is None:
            whole.append(member := {})
        _grow(member, change)
