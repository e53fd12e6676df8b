"""Chat Completions chunks in, Responses events out. No I/O.

Theory of operation. A backend's answer is a stretch of reasoning, text and refusals with calls among them, and a chunk
adds to any of them. Reasoning and message are *content*: one of them is open at a time, and the other kind closes it.
Calls live beside them: the next item closes those whose arguments are complete JSON, the others stay open to the end,
since backends interleave parallel calls and some resume one after a stretch of text. What a chunk says is read field
by field, each of which may be absent, null, empty, repeated or of a sister type. How the answer ended is decided once,
in `finish`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from antiphon.errors import AntiphonError, BackendError
from antiphon.protocol.chat import ChatChunk, Choice, Delta, read_error
from antiphon.protocol.items.content import OutputText, Status
from antiphon.protocol.items.messages import Message
from antiphon.protocol.response import Usage
from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.annotations import (
    read_annotation,
    read_citations,
    read_logprobs,
    spelling,
)
from antiphon.translation.from_chat.calls import StreamingCalls, read_call
from antiphon.translation.from_chat.decode import decode_answer, decode_chunk, decode_texts, read_usage
from antiphon.translation.from_chat.reasoning import ReasoningState, thinking_parts
from antiphon.translation.from_chat.text_filters import BARE_CLOSE, OPENINGS, Piece, SurrogateJoiner, ThinkSplitter
from antiphon.translation.items import StreamingMessage, StreamingReasoning
from antiphon.translation.tool_items import StreamingCall
from antiphon.translation.writer import ResponseWriter

FinishReason = Literal["completed", "max_output_tokens", "content_filter", "steered", "max_messages"]

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "completed",
    "tool_calls": "completed",
    "length": "max_output_tokens",
    "content_filter": "content_filter",
    "max_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",  # Mistral: the context is full
    "model_context_window_exceeded": "max_output_tokens",  # Z.ai
    "MAX_TOKENS": "max_output_tokens",  # Gemini behind thin gateways
    "safety": "content_filter",
    "sensitive": "content_filter",  # Z.ai
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "content_filtered": "content_filter",
}
"""What a `finish_reason` means. One that is not here (`function_call`, `tool_use`, `end_turn`, `eos`) ends well."""

BREAKDOWNS = {
    "error": "The backend says that its answer ended in an error.",
    "abort": "The backend says that its answer was aborted.",  # vLLM, SGLang
    "network_error": "The backend says that its answer broke off.",  # Z.ai
    "insufficient_system_resource": "The backend ran out of resources in the middle of its answer.",  # DeepSeek
}
"""Finish reasons that are failures, and what they say."""

MAX_BLANK = 64
"""Characters of whitespace that wait for a text to begin; more of it is one."""


class Finish(Struct):
    """How a backend's answer ended: well, short, or with an error."""

    outcome: FinishReason
    usage: Usage | None
    error: AntiphonError | None = None
    held: Sequence[StreamingCall] = ()
    """Calls that are not told to their end: this server is to carry them out, or their input is to be mended."""
    are_used_up: bool = False
    """Calls that this server would have carried out were not heard: there were enough."""


class ChatStream:
    """Translates one backend answer into events of a response, through the response's writer.

    Feed it every chunk, or the one object of a plain answer, then `finish` it.

    `offers` are the tools offered, by the names that the backend knows, `allowed` the names that may be called, None
    where any may, and `call_ids` those taken in the conversation;
    `only_one` cuts the answer after its first call; `hosted_left` calls of this server's own tools are heard;
    `sources` are what the model may cite, each title by its URL;
    `preopened` says that the model's template opens `<think>`;
    `needs_reason` is False for a backend that never says why it finished; `cap` are the tokens that it may use, if any.
    """

    def __init__(
        self,
        writer: ResponseWriter,
        *,
        offers: Mapping[str, Offer] | None = None,
        allowed: Collection[str] | None = None,
        call_ids: Collection[str] = (),
        only_one: bool = False,
        hosted_left: int | None = None,
        sources: Mapping[str, str] | None = None,
        preopened: bool = False,
        needs_reason: bool = True,
        cap: int | None = None,
    ) -> None:
        self._writer = writer
        self._sources = sources
        self._offers = offers
        self._allowed = allowed
        self._call_ids = call_ids
        self._only_one = only_one
        self._hosted_left = hosted_left
        self._preopened = preopened
        self._is_started = False
        self._message: StreamingMessage | None = None
        self._reasoning: StreamingReasoning | None = None
        self._blank = ""
        self._logprobs: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []
        self._citations: list[Any] = []
        self._usage: Any = None
        self._finish_reason = ""
        self._needs_reason = needs_reason
        self._cap = cap
        self._is_plain = False
        self._has_begun = False
        self.error: BackendError | None = None
        self.is_over = False
        """Whether the answer failed: nothing else is its last chunk for certain."""

    def _start(self) -> None:
        """Make what chunks are read with: most plain answers need none of it."""
        self._is_started = True
        self._calls = StreamingCalls(
            self._writer,
            self._make_room,
            self._offers or {},
            self._call_ids,
            allowed=self._allowed,
            only_one=self._only_one,
            hosted_left=self._hosted_left,
        )
        self._think = ThinkSplitter(self._preopened)
        self._surrogates = SurrogateJoiner()
        self._reasoning_state = ReasoningState()

    @property
    def preopened(self) -> bool:
        """Whether the model's template opens `<think>`, as far as is known now: how to start on its next answer."""
        return self._think.preopened if self._is_started else self._preopened

    @property
    def has_calls(self) -> bool:
        """Whether a call began."""
        return self._is_started and bool(self._calls)

    def read(self, data: bytes) -> None:
        """Take a chunk as it came. Raises `BackendError` for what is no chunk."""
        self.feed(decode_chunk(data))

    def read_run(self, events: Sequence[bytes], start: int) -> int:
        """Take the chunk at `start`, with those that follow where all add text to the open message; return how many.

        Raises `BackendError` for what is no chunk.
        """
        message = self._message
        if (
            message is not None
            and message.is_steady
            and (mark := self._think.mark) is not None
            and not (self._surrogates.halves or self._logprobs or self._calls.is_cut or self.error)
            and (texts := decode_texts(events, start, mark))
        ):
            self._think.last = texts[-1]
            message.add_texts(texts)
            return len(texts)
        self.feed(decode_chunk(events[start]))
        return 1

    def take_text(self, data: bytes) -> Finish | None:
        """Take a plain answer that nobody hears being told, where that is a text; return how it ended.

        None: it is one to `read`.
        """
        if self._writer.is_heard or self._sources or self.error or (answer := decode_answer(data)) is None:
            return None
        choice = answer.choices[0]
        text = choice.message.content
        if not text or text.isspace():
            return None
        if self._preopened or BARE_CLOSE in text or text.lstrip().startswith(OPENINGS):
            return None  # reasoning may be in it
        outcome = FINISH_REASONS[choice.finish_reason]
        status: Status = "completed" if outcome == "completed" else "incomplete"
        item = Message(id=self._writer.new_id("msg"), status=status, role="assistant", content=[OutputText(text=text)])
        self._writer.add_item(item)
        return Finish(outcome, read_usage(answer.usage))

    def feed(self, chunk: ChatChunk) -> None:
        """Take a chunk. An `error` in it ends the answer; what follows is ignored."""
        if self.error is not None:
            return
        if not self._is_started:
            self._start()
        if chunk.usage and isinstance(chunk.usage, dict):
            self._usage = chunk.usage
        if chunk.error or chunk.x_groq or chunk.citations:
            self._feed_extras(chunk)
        has_begun = self._has_begun
        for choice in chunk.choices or ():
            if not choice.index:
                self._feed_choice(choice, has_begun)

    def finish(self, done: bool = False) -> Finish:
        """Say that the answer is over, `done` if the backend said `[DONE]`; close what is open, return how it ended."""
        if not self._is_started:
            self._start()
        error = self.error or self._missing_end(done)
        outcome = self._outcome()
        status: Status = "incomplete" if error or outcome != "completed" else "completed"
        self._flush_text()
        if self._think.is_astray and status == "completed":
            self._take_for_answer()
        self._annotate(read_citations(self._citations))
        self._calls.open_named()
        self._close_content(status)
        self._calls.close(status)
        # Signatures may come last. They matter where calls are answered; nothing may stand behind a cut item.
        if self._reasoning_state and self._calls and status == "completed":
            self._open_reasoning()
            self._close_reasoning(status)
        return Finish(outcome, read_usage(self._usage), error, self._calls.held, self._calls.are_used_up)

    def _feed_extras(self, chunk: ChatChunk) -> None:
        groq = chunk.x_groq if isinstance(chunk.x_groq, dict) else {}
        if isinstance(groq.get("usage"), dict):
            self._usage = groq["usage"]
        if isinstance(chunk.citations, list):
            self._citations = chunk.citations
        if error := chunk.error or groq.get("error"):
            self.error, self.is_over = read_error(error), True

    def _outcome(self) -> FinishReason:
        """Return how the answer ended. llama-cpp-python says of a call that was cut off that it is whole."""
        outcome = FINISH_REASONS.get(self._finish_reason, "completed")
        if outcome != "completed" or self._cap is None or not self._calls.are_torn:
            return outcome
        usage = read_usage(self._usage)
        return "max_output_tokens" if usage is None or usage.output_tokens >= self._cap else outcome

    def _missing_end(self, done: bool) -> BackendError | None:
        """An answer that ended without saying why broke off, unless it is whole for another reason."""
        if breakdown := BREAKDOWNS.get(self._finish_reason):
            return BackendError(breakdown)
        is_whole = self._is_plain or (done and not self._needs_reason)
        if self._finish_reason or (is_whole and self._has_begun):
            return None
        return BackendError("The backend's answer ended before it was finished.")

    # One choice of one chunk.

    def _feed_choice(self, choice: Choice, has_begun: bool) -> None:
        if choice.finish_reason and isinstance(choice.finish_reason, str):
            self._finish_reason = choice.finish_reason
        delta = choice.delta
        if delta is None:
            # A plain answer has a message. Perplexity's chunks have both, and their message repeats the deltas.
            delta = choice.message
            if delta is None or has_begun:
                return
            self._is_plain = True
        if self._calls.is_cut:
            self._feed_calls(delta)
            return
        if choice.logprobs and self._writer.view.logprobs:
            self._logprobs += read_logprobs(choice.logprobs, self._writer.view.rivals)
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.thinking_blocks:
            self._add_reasoning(self._reasoning_state.read(delta))
        if delta.extra_content:
            self._reasoning_state.keep_extra_content(delta.extra_content)
            self._add_reasoning("")
        if delta.content:
            if isinstance(delta.content, str):
                self._add_text(delta.content)
            else:
                self._add_content(delta.content)
        elif self._logprobs and not self._surrogates.halves:
            self._logprobs = []  # of tokens that are no text
        if delta.refusal and isinstance(delta.refusal, str):
            self._add_refusal(delta.refusal)
        if delta.annotations and isinstance(delta.annotations, list):
            self._annotate([read_annotation(annotation) for annotation in delta.annotations])
        self._feed_calls(delta)

    def _feed_calls(self, delta: Delta) -> None:
        if delta.tool_calls:
            for call in delta.tool_calls:
                self._feed_call(call)
        elif delta.function_call:
            # llama-cpp-python says each call both ways.
            self._feed_call({"index": 0, "function": delta.function_call})

    def _add_content(self, content: Any) -> None:
        """Read content that is no string: Mistral's parts, or Cloudflare's JSON value for structured output."""
        if not isinstance(content, list):
            self._add_text(msgspec.json.encode(content).decode())
            return
        reasoning, text = thinking_parts(content)
        if reasoning:
            self._reasoning_state.field = "thinking"
            self._add_reasoning(reasoning)
        if text:
            self._add_text(text)

    def _feed_call(self, value: Any) -> None:
        if not isinstance(value, dict):
            return
        delta, extra_content = read_call(value, self._surrogates), value.get("extra_content")
        if not (delta.id or delta.name or delta.arguments or extra_content):
            return
        call = self._calls.find(value.get("index"), delta)
        if extra_content:
            self._reasoning_state.keep_for_call(self._calls.call_id(call, delta), extra_content)
        self._calls.feed(call, delta)

    def _make_room(self) -> None:
        """A call opens: what came before it ends. Signatures that wait go before it, where backends want them."""
        self._has_begun = True
        self._flush_text()
        self._blank = ""
        if self._reasoning_state:
            self._open_reasoning()
        self._close_content("completed")

    # Content: reasoning or message, one at a time.

    def _add_reasoning(self, text: str) -> None:
        if text:
            if self._message is not None:
                self._flush_text()
            self._think.stop()
            if text := self._surrogates.whole("reasoning", text):
                self._reason(text)
        elif self._reasoning_state and self._message is None and not self._calls:
            # Signatures come without text; those that follow the answer wait.
            self._open_reasoning()

    def _add_text(self, text: str) -> None:
        if self._surrogates.halves or not text.isascii():
            text = self._surrogates.whole("text", text)
            if not text:
                return
        if self._think.is_plain(text):
            self._say(text)
            return
        self._tell(self._think.feed(text))

    def _flush_text(self) -> None:
        if rest := self._surrogates.rest("text"):
            self._tell(self._think.feed(rest))
        self._tell(self._think.flush())

    def _tell(self, pieces: list[Piece]) -> None:
        for is_reasoning, piece in pieces:
            if not is_reasoning:
                self._say(piece)
            elif piece:
                self._reasoning_state.field = self._reasoning_state.field or "think"
                self._reason(piece)
            else:
                self._close_message("completed")
        if pieces and pieces[-1][0]:
            self._logprobs = []

    def _say(self, text: str) -> None:
        message = self._message
        if message is None:
            text = self._blank + text
            if text.isspace() and len(text) <= MAX_BLANK:
                self._blank = text
                return
            self._blank = ""
            self._logprobs = spelling(self._logprobs, text)
            message = self._open_message()
            self._annotate([])
        if self._logprobs:
            logprobs, self._logprobs = self._logprobs, []
            message.add_text(text, logprobs)
        else:
            message.add_text(text)

    def _take_for_answer(self) -> None:
        """The block that the template was thought to open never closed: its text was the answer, and is said as one."""
        self._think.preopened = False
        if self._reasoning is not None:
            self._say(self._reasoning.text)

    def _add_refusal(self, text: str) -> None:
        self._flush_text()
        if text := self._surrogates.whole("refusal", text):
            message = self._message or self._open_message()
            message.add_refusal(text)

    def _reason(self, text: str) -> None:
        reasoning = self._reasoning or self._open_reasoning()
        reasoning.add(text)

    def _annotate(self, annotations: list[dict[str, Any]]) -> None:
        """Annotate the message; without one, annotations wait for its text."""
        self._annotations += filter(None, annotations)
        if self._message is not None:
            for annotation in self._annotations:
                self._message.annotate(annotation)
            self._annotations = []

    def _open_message(self) -> StreamingMessage:
        self._has_begun = True
        self._close_reasoning("completed")
        self._calls.close_whole()
        self._message = StreamingMessage(self._writer, self._sources)
        return self._message

    def _open_reasoning(self) -> StreamingReasoning:
        if self._reasoning is None:
            self._has_begun = True
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
            if rest := self._surrogates.rest("refusal"):
                message.add_refusal(rest)
            message.close(status)

    def _close_reasoning(self, status: Status) -> None:
        if self._reasoning is not None:
            reasoning, self._reasoning = self._reasoning, None
            if rest := self._surrogates.rest("reasoning"):
                reasoning.add(rest)
            state, self._reasoning_state = self._reasoning_state, ReasoningState()
            reasoning.close(status, state)
