"""Translates the answers of Ollama's native `/api/chat` into chunks of Chat Completions, or one
completion.

A streamed answer is a JSON object on each line, the last with `done: true`; sources as in
`request.py`. Calls arrive whole, with their arguments as an object. `prompt_eval_count` includes
what was read from the cache, except in Ollama before 0.2 and in 0.30.0 (ollama#5371, #16428);
`prompt_eval_cached_count` is its cached part.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.json_members import decode_value

MAX_LINE = 16 * 1024 * 1024
"""Bytes of one line; a backend that sends a longer one is broken or hostile."""

DONE = b"data: [DONE]\n\n"

_encode = msgspec.json.Encoder().encode

Chunk = dict[str, Any]


class NativeAnswer:
    """Translates one answer.

    Feed it the bytes of a stream in any split, then `finish`; or pass a `whole` answer.

    `id` and `created` are those of the completion. `num_ctx` is the window that the model was
    loaded with: a prompt that filled all of it was truncated by a server that does not know
    `truncate`, and the answer is an error. `with_usage` adds a last chunk with the tokens, as
    `stream_options.include_usage` requests it.
    """

    def __init__(
        self, id: str, created: int, num_ctx: int | None = None, *, with_usage: bool = True
    ) -> None:
        self._head: Chunk = {
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": "",
        }
        self._num_ctx = num_ctx
        self._with_usage = with_usage
        self._line: list[bytes] = []
        self._size = 0
        self._calls = 0
        self._has_begun = False
        self._is_over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add bytes of the stream; yield the server-sent events that they complete.

        Raises `BackendError` for a line that is not a JSON object, after the events before it, or
        is too long.
        """
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line = []
            self._size = 0
        self._line.append(rest)
        self._size += len(rest)
        if self._size > MAX_LINE:
            raise BackendError(f"The backend sent a line of more than {MAX_LINE} bytes.")
        for line in lines:
            yield from self._events(line)

    def finish(self) -> Iterator[bytes]:
        """End the stream; yield the events of the last line, if its line end is missing."""
        if self._size:
            yield from self.feed(b"\n")

    def whole(self, data: bytes) -> bytes:
        """Return a non-streamed answer as a completion, or as the error that it is.

        Raises as `feed`.
        """
        answer = _object(data)
        if error := self._error(answer):
            return _encode({"error": error})
        delta = self._delta(answer)
        finish_reason = self._finish_reason(answer)
        message = {"role": "assistant", "content": None, **delta}
        for call in message.get("tool_calls") or ():
            call.pop("index")
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": finish_reason,
            "logprobs": _logprobs(answer),
        }
        completion = {
            **self._head,
            "object": "chat.completion",
            "model": answer.get("model") or "",
            "choices": [choice],
        }
        if usage := _usage(answer):
            completion["usage"] = usage
        return _encode(completion)

    def _events(self, line: bytes) -> Iterator[bytes]:
        if not line.strip() or self._is_over:
            return
        answer = _object(line)
        if error := self._error(answer):
            self._is_over = True
            yield _event({"error": error})
            return
        self._head["model"] = answer.get("model") or ""
        delta = self._delta(answer)
        if not self._has_begun:
            self._has_begun = True
            delta = {"role": "assistant", **delta}
        finish_reason = self._finish_reason(answer) if answer.get("done") else None
        choice: Chunk = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        if logprobs := _logprobs(answer):
            choice["logprobs"] = logprobs
        yield _event({**self._head, "choices": [choice]})
        if answer.get("done"):
            self._is_over = True
            if self._with_usage and (usage := _usage(answer)):
                yield _event({**self._head, "choices": [], "usage": usage})
            yield DONE

    def _delta(self, answer: Mapping[str, Any]) -> Chunk:
        message = answer.get("message")
        if not isinstance(message, dict):
            return {}
        delta: Chunk = {}
        if thinking := message.get("thinking"):
            delta["reasoning"] = thinking
        if content := message.get("content"):
            delta["content"] = content
        if calls := message.get("tool_calls"):
            delta["tool_calls"] = [self._call(call) for call in _objects(calls)]
        return delta

    def _call(self, call: Mapping[str, Any]) -> Chunk:
        """Return a call in Chat's form.

        The server's own `index` is 0 for each of several calls in older versions.
        """
        function = call.get("function") or {}
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else _encode(arguments or {}).decode()
        index = self._calls
        self._calls = self._calls + 1
        chat: Chunk = {
            "index": index,
            "type": "function",
            "function": {"name": function.get("name"), "arguments": text},
        }
        return {**chat, "id": call["id"]} if call.get("id") else chat

    def _finish_reason(self, answer: Mapping[str, Any]) -> str:
        reason = answer.get("done_reason") or "stop"
        return "tool_calls" if reason == "stop" and self._calls else str(reason)

    def _error(self, answer: Mapping[str, Any]) -> Any:
        """Return why an answer failed; None if it did not."""
        if error := answer.get("error"):
            return {"message": error} if isinstance(error, str) else error
        read = answer.get("prompt_eval_count")
        if self._num_ctx is None or not isinstance(read, int) or read < self._num_ctx:
            return None
        return {
            "message": window_is_full(read),
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }


def window_is_full(read: int) -> str:
    """Return the message for a prompt that was truncated to the window."""
    return (
        f"The prompt filled the model's whole window of {read} tokens, "
        "so the server has cut it or had no room for an answer. Shorten the input, "
        "or raise `num_ctx` of this backend in the server's settings."
    )


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = decode_value(data)
    except (ValueError, RecursionError) as error:
        raise BackendError("The backend sent a line that is not valid JSON.") from error
    if not isinstance(value, dict):
        raise BackendError("The backend sent a line that is not a JSON object.")
    return value


def _objects(values: Any) -> Iterable[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _logprobs(answer: Mapping[str, Any]) -> Chunk | None:
    tokens = answer.get("logprobs")
    return (
        {"content": [{"top_logprobs": [], **token} for token in _objects(tokens)]}
        if tokens
        else None
    )


def _usage(answer: Mapping[str, Any]) -> Chunk | None:
    """Return the tokens, None if the server does not report those of the prompt."""
    prompt = answer.get("prompt_eval_count")
    stated = answer.get("eval_count") or 0
    if not isinstance(prompt, int) or not isinstance(stated, int):
        return None
    usage: Chunk = {
        "prompt_tokens": prompt,
        "completion_tokens": stated,
        "total_tokens": prompt + stated,
    }
    if cached := answer.get("prompt_eval_cached_count"):
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return usage


def _event(value: Any) -> bytes:
    return b"data: " + _encode(value) + b"\n\n"
