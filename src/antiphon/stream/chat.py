"""Chat Completions chunks in, Responses events out. No I/O.

Theory of operation. A backend's answer is a stretch of reasoning, text and refusals with calls among them, and a chunk
adds to any of them. Reasoning and message are *content*: one of them is open at a time, and the other kind closes it.
Calls live beside them: the next item closes those whose arguments are complete JSON, the others stay open to the end,
since backends interleave parallel calls and some resume one after a stretch of text. What a chunk says is read field
by field, each of which may be absent, null, empty, repeated or of a sister type. How the answer ended is decided once,
in `finish`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChunk, Choice, Delta
from antiphon.protocol.chat_errors import read_error
from antiphon.protocol.items import Status
from antiphon.protocol.response import Usage
from antiphon.stream.annotations import read_annotation, read_citations
from antiphon.stream.calls import StreamingCalls, read_call
from antiphon.stream.items import StreamingMessage, StreamingReasoning
from antiphon.stream.logprobs import read_logprobs
from antiphon.stream.reasoning import ReasoningState, thinking_parts
from antiphon.stream.surrogates import SurrogateJoiner
from antiphon.stream.think import ThinkSplitter
from antiphon.stream.usage import read_usage
from antiphon.stream.writer import ResponseWriter

Outcome = Literal["completed", "max_output_tokens", "content_filter"]

FINISH_REASONS: dict[str, Outcome] = {
    "stop": "completed",
    "tool_calls": "completed",
    "length": "max_output_tokens",
    "content_filter": "content_filter",
    "max_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",  # Mistral: the context is full
    "MAX_TOKENS": "max_output_tokens",  # Gemini behind thin gateways
    "safety": "content_filter",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "content_filtered": "content_filter",
}
"""What a `finish_reason` means. One that is not here (`function_call`, `tool_use`, `end_turn`, `eos`) ends well."""


@dataclass(slots=True)
class Ending:
    """How a backend's answer ended: well, short, or with an error."""

    outcome: Outcome
    usage: Usage | None
    error: BackendError | None = None


class ChatStream:
    """Translates one backend answer into events of a response, through the response's writer.

    Feed it every chunk, or the one object of a plain answer, then `finish` it.

    `names` are the functions offered; `preopened` says that the model's template opens `<think>`;
    `needs_reason` is False for a backend that never says why it finished.
    """

    def __init__(
        self,
        writer: ResponseWriter,
        *,
        names: Collection[str] = (),
        preopened: bool = False,
        needs_reason: bool = True,
    ) -> None:
        self._writer = writer
        self._calls = StreamingCalls(writer, names)
        self._think = ThinkSplitter(preopened)
        self._surrogates = SurrogateJoiner()
        self._message: StreamingMessage | None = None
        self._reasoning: StreamingReasoning | None = None
        self._reasoning_state = ReasoningState()
        self._logprobs: list[dict[str, Any]] = []
        self._citations: list[Any] = []
        self._usage: Any = None
        self._finish_reason = ""
        self._needs_reason = needs_reason
        self._is_plain = False
        self.error: BackendError | None = None

    @property
    def found_preopened(self) -> bool:
        """Whether `</think>` came without its opening: the template opens it, so start `preopened` the next time."""
        return self._think.found_preopened

    def feed(self, chunk: ChatChunk) -> None:
        """Take a chunk. An `error` in it ends the answer; what follows is ignored."""
        if self.error is not None:
            return
        if chunk.usage:
            self._usage = chunk.usage
        if chunk.error or chunk.x_groq or chunk.citations:
            self._feed_extras(chunk)
        for choice in chunk.choices or ():
            if not choice.index:
                self._feed_choice(choice)

    def finish(self, done: bool = False) -> Ending:
        """Say that the answer is over, `done` if the backend said `[DONE]`; close what is open, return how it ended."""
        error = self.error or self._missing_end(done)
        outcome = FINISH_REASONS.get(self._finish_reason, "completed")
        status: Status = "incomplete" if error or outcome != "completed" else "completed"
        self._flush_text()
        self._annotate(read_citations(self._citations))
        if self._reasoning is None and self._reasoning_state.details:
            self._open_reasoning()
        self._close_content(status)
        self._calls.close(status)
        return Ending(outcome, read_usage(self._usage), error)

    def _feed_extras(self, chunk: ChatChunk) -> None:
        if isinstance(chunk.x_groq, dict) and chunk.x_groq.get("usage"):
            self._usage = chunk.x_groq["usage"]
        if isinstance(chunk.citations, list):
            self._citations = chunk.citations
        if chunk.error:
            self.error = read_error(chunk.error)

    def _missing_end(self, done: bool) -> BackendError | None:
        """An answer that ended without saying why broke off, unless it is whole for another reason."""
        if self._finish_reason == "error":
            return BackendError("The backend says that its answer ended in an error.")
        is_whole = self._is_plain or (done and not self._needs_reason)
        if self._finish_reason or (is_whole and self._has_said_something()):
            return None
        return BackendError("The backend's answer ended before it was finished.")

    def _has_said_something(self) -> bool:
        return bool(self._writer.output or self._message or self._reasoning or self._calls)

    # One choice of one chunk.

    def _feed_choice(self, choice: Choice) -> None:
        if choice.finish_reason and isinstance(choice.finish_reason, str):
            self._finish_reason = choice.finish_reason
        delta = choice.delta or self._plain_message(choice)
        if delta is None:
            return
        if choice.logprobs and self._writer.view.logprobs:
            self._logprobs += read_logprobs(choice.logprobs)
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.thinking_blocks:
            self._add_reasoning(self._reasoning_state.read(delta))
        if delta.extra_content and self._message is None:
            self._reasoning_state.details["extra_content"] = delta.extra_content
            self._add_reasoning("")
        if delta.content:
            self._add_text(delta.content if isinstance(delta.content, str) else self._read_content(delta.content))
        if delta.refusal and isinstance(delta.refusal, str):
            self._open_message().add_refusal(self._surrogates.whole("refusal", delta.refusal))
        if delta.annotations and isinstance(delta.annotations, list):
            self._annotate([read_annotation(annotation) for annotation in delta.annotations])
        for call in delta.tool_calls or ():
            self._feed_call(call)
        if delta.function_call:
            self._feed_call({"index": 0, "function": delta.function_call})

    def _plain_message(self, choice: Choice) -> Delta | None:
        """A plain answer has a message. Perplexity's chunks have both, and their message repeats the deltas."""
        if choice.message is None or self._has_said_something():
            return None
        self._is_plain = True
        return choice.message

    def _read_content(self, content: Any) -> str:
        """Read content that is no string: Mistral's parts, or Cloudflare's JSON value for structured output."""
        if not isinstance(content, list):
            return msgspec.json.encode(content).decode()
        reasoning, text = thinking_parts(content)
        if reasoning:
            self._reasoning_state.field = "thinking"
            self._add_reasoning(reasoning)
        return text

    def _feed_call(self, value: Any) -> None:
        if not isinstance(value, dict):
            return
        delta = read_call(value, self._surrogates)
        call, is_new = self._calls.find(value.get("index"), delta)
        if is_new:
            self._flush_text()
            self._calls.close_whole()
            if value.get("extra_content"):
                self._reasoning_state.keep_for_call(self._calls.settle_id(call, delta), value["extra_content"])
                self._add_reasoning("")
            self._close_content("completed")
        self._calls.feed(call, delta)

    # Content: reasoning or message, one at a time.

    def _add_reasoning(self, text: str) -> None:
        if text:
            self._think.stop()
            self._reason(self._surrogates.whole("reasoning", text))
        elif self._message is None and not self._calls:
            # Signatures come without text; those that follow the answer wait for the end.
            self._open_reasoning()

    def _add_text(self, text: str) -> None:
        if not text.isascii():
            text = self._surrogates.whole("text", text)
        if self._think.is_plain(text):
            self._say(text)
            return
        for is_reasoning, piece in self._think.feed(text):
            self._tell(is_reasoning, piece)

    def _flush_text(self) -> None:
        for is_reasoning, piece in self._think.flush():
            self._tell(is_reasoning, piece)

    def _tell(self, is_reasoning: bool, piece: str) -> None:
        if is_reasoning:
            self._reasoning_state.field = self._reasoning_state.field or "think"
            self._reason(piece)
        else:
            self._say(piece)

    def _say(self, text: str) -> None:
        message = self._message or self._open_message()
        if self._logprobs:
            logprobs, self._logprobs = self._logprobs, []
            message.add_text(text, logprobs)
        else:
            message.add_text(text)

    def _reason(self, text: str) -> None:
        # An empty piece only ends the message: what was said so far turned out to be reasoning.
        self._close_message("completed")
        if text:
            self._open_reasoning().add(text)

    def _annotate(self, annotations: list[dict[str, Any]]) -> None:
        for annotation in annotations:
            if annotation:
                self._open_message().annotate(annotation)

    def _open_message(self) -> StreamingMessage:
        if self._message is None:
            self._close_reasoning("completed")
            self._calls.close_whole()
            self._message = StreamingMessage(self._writer)
        return self._message

    def _open_reasoning(self) -> StreamingReasoning:
        if self._reasoning is None:
            self._close_message("completed")
            self._calls.close_whole()
            self._reasoning = StreamingReasoning(self._writer)
        return self._reasoning

    def _close_content(self, status: Status) -> None:
        self._close_message(status)
        self._close_reasoning(status)

    def _close_message(self, status: Status) -> None:
        if self._message is not None:
            message, self._message = self._message, None
            message.close(status)

    def _close_reasoning(self, status: Status) -> None:
        if self._reasoning is not None:
            reasoning, self._reasoning = self._reasoning, None
            state, self._reasoning_state = self._reasoning_state, ReasoningState()
            reasoning.close(status, state)
