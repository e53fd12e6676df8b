"""Chat Completions chunks in, Responses events out. No I/O.

Theory of operation. A backend's answer is a sequence of reasoning, text and refusals (`content.py`)
with calls among them (`calls.py`), and a chunk adds to any of them. A chunk is read field by field,
each of which can be absent, null, empty, repeated or of a related type. Chunks that only add to the
open text, and non-streamed answers that are only a text, are recognised by a strict decoder and
take a shorter path to the same result. The next item closes the calls with complete JSON arguments;
the others stay open to the end, because backends interleave parallel calls and some resume one
after some text. How the answer ended is decided once, in `finish`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from antiphon.errors import BackendError
from antiphon.protocol.chat import ChatChoice, ChatChunk, flat_error, read_error
from antiphon.protocol.items.content import MAX_CALL_ID, OutputText, Status
from antiphon.protocol.items.messages import Message
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from antiphon.protocol.sources import Sources
from antiphon.protocol.tool_bindings import Offer, TextCalls
from antiphon.translation.checked_items import TextCheck
from antiphon.translation.dialects.dialect import SIGNED_ID
from antiphon.translation.from_chat.calls import StreamingCalls, read_call
from antiphon.translation.from_chat.content import CallSearch, StreamingContent, before_sign
from antiphon.translation.from_chat.decode import (
    decode_answer,
    decode_chunk,
    decode_text,
    decode_texts,
)
from antiphon.translation.from_chat.failed_generation import UNPARSED, answer_in, text_of
from antiphon.translation.from_chat.finish_reasons import FINISH_REASONS, end_error, native_outcome
from antiphon.translation.from_chat.reasoning import is_shallow
from antiphon.translation.from_chat.reasoning_tags import OPENINGS
from antiphon.translation.from_chat.text_filters import BARE_CLOSE
from antiphon.translation.items import StreamingMessage
from antiphon.translation.repetition import RepetitionWatch
from antiphon.translation.tool_items import StreamingCall
from antiphon.translation.wire import Finish, FinishReason
from antiphon.translation.writer import GrowingText, ResponseWriter

WATCHED = 512
"""Chunks between two checks whether the text repeats itself."""

MOST_AT_ONCE = 256
"""Chunks of which the texts are added in one step."""

MANY = 8
"""Chunks that are decoded together."""

WITHOUT_SIGNS = 64
"""Texts without a sign of a call after which signs are searched in all of a step at once."""


class ChatStream:
    """Translates one backend answer into events of a response, through the response's writer.

    Feed it every chunk, or the one object of a non-streamed answer, then `finish` it.

    `offers` are the tools that the model was offered, by the names that the backend knows. `allowed` are the names that
    can be called; None allows any. `call_ids` are the ids that the conversation already uses. `only_one` ends the
    answer after its first call. `hosted_left` is how many calls of tools that Antiphon runs are accepted. `text_calls`
    says which calls the model can write as text that the backend does not recognise. `sources` are what the model can
    cite, in the order of their numbers. `preopened` says that the model's template opens `<think>`. `is_quoted` says
    whether the request mentions a tag of reasoning, which is then part of the text. `needs_reason` is False for a
    backend that never sends a finish reason. `cap` is the number of tokens that the answer can use, None for no limit.
    `check` has the schema that the text must match. After `loop_text` repeated characters the answer ends; 0 means
    never.

    >>> from antiphon.translation import ChatStream, ResponseWriter, conclude, decode_chunk
    >>> from antiphon.types import Response
    >>> from antiphon.ids import new_id, now
    >>> writer = ResponseWriter(Response(id="resp_1", created_at=0, model="m"), new_id, now, seal=lambda state: "")
    >>> chat = ChatStream(writer)
    >>> chat.feed(decode_chunk(b'{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}'))
    >>> conclude(writer, chat.finish(done=True))
    >>> writer.response.output[0].content[0].text
    'Hi'
    """  # noqa: E501 - a table, a diagram or an example

    def __init__(
        self,
        writer: ResponseWriter,
        *,
        offers: Mapping[str, Offer] | None = None,
        allowed: Collection[str] | None = None,
        call_ids: Collection[str] = (),
        only_one: bool = False,
        hosted_left: int | None = None,
        text_calls: TextCalls = "",
        sources: Sources | None = None,
        preopened: bool = False,
        is_quoted: Callable[[str], bool] | None = None,
        needs_reason: bool = True,
        cap: int | None = None,
        check: TextCheck | None = None,
        loop_text: int = 0,
    ) -> None:
        self._writer = writer
        self._sources = sources
        self._offers = offers
        self._allowed = allowed
        self._call_ids = call_ids
        self._only_one = only_one
        self._hosted_left = hosted_left
        self._text_calls = text_calls
        self._callable = _callable(offers, allowed) if offers and text_calls else None
        """The tools that the model can call in its text; None if the text contains no calls."""
        self._preopened = preopened
        self._is_quoted = is_quoted
        self._needs_reason = needs_reason
        self._cap = cap
        self._check = check
        self._loop_text = loop_text
        self._watch: RepetitionWatch | None = None
        self._unwatched = 0
        """Chunks since the last check of the text."""
        self._is_looping = False
        self._is_started = False
        self._citations: list[Any] = []
        self._usage: Any = None
        self._finish_reason = ""
        self._native_reason: Any = None
        self._flat_error: Any = None
        """What can be an error in the form of no API, if the answer has no end."""
        self._is_plain = False
        self._text: GrowingText | None = None
        """The text to which a plain text chunk is appended, if it has no `_mark` in it."""
        self._mark = ""
        self._search: CallSearch | None = None
        self._has_signs = False
        """Whether the newest texts had signs of calls, or the mark."""
        """What a text chunk must not have in it if the answer can contain calls."""
        self.error: BackendError | None = None
        self.is_over = False
        """Whether the answer failed, or a stop sequence ended it: nothing else makes a chunk
        certainly the last one.
        """

    def _start(self) -> None:
        """Create what reads chunks: most non-streamed answers need none of it."""
        self._is_started = True
        content = (
            self._calling_content()
            if self._callable
            else StreamingContent(
                self._writer,
                self._sources,
                preopened=self._preopened,
                check=self._check,
                is_quoted=self._is_quoted,
            )
        )
        self._content = content
        self._calls = content.calls = StreamingCalls(
            self._writer,
            content.make_room,
            self._offers or {},
            self._call_ids,
            allowed=self._allowed,
            only_one=self._only_one,
            hosted_left=self._hosted_left,
        )

    def _is_text(self, answer: str) -> bool:
        from antiphon.translation.from_chat.text_calls.reader import is_text  # noqa: PLC0415 - for tools

        return self._text_calls != "wrapped" and is_text(
            answer, only_marked=self._text_calls == "marked"
        )

    def _calling_content(self) -> StreamingContent:
        from antiphon.translation.from_chat.text_calls.content import CallingContent  # noqa: PLC0415 - for tools

        return CallingContent(
            self._writer,
            self._sources,
            preopened=self._preopened,
            check=self._check,
            offers=self._callable or {},
            text_calls=self._text_calls,
            is_quoted=self._is_quoted,
        )

    @property
    def preopened(self) -> bool:
        """Whether the model's template opens `<think>`, as far as known: the initial value for its
        next answer.
        """
        return self._content.think.preopened if self._is_started else self._preopened

    @property
    def has_calls(self) -> bool:
        """Whether a call began that the client did not rule out."""
        return self._is_started and self._calls.begun > 0

    def read(self, data: bytes) -> None:
        """Read a chunk as received. Raises `BackendError` for anything but a chunk."""
        self.feed(decode_chunk(data))

    def read_run(self, events: Sequence[bytes], start: int) -> int:
        """Read the chunk at `start`, with those that follow if all add text to the open message;
        return how many.

        What can begin a sign of a call is searched in all their texts at once, a hundred times as
        quickly as a sign in each. Where one was found, the texts behind it were decoded for
        nothing: then each is looked at for a while.

        Raises `BackendError` for anything but a chunk.
        """
        text = self._text
        mark = self._mark
        firsts, has_sign, unread = self._search or ("", None, None)
        reads_each = self._has_signs
        texts: list[str] = []
        if text is not None and self.error is None:
            end = min(start + MOST_AT_ONCE, len(events))
            if end - start >= MANY and not reads_each:
                texts = decode_texts(events[start:end])
                if mark and mark in "".join(texts):
                    texts = before_sign(texts, lambda text: mark in text)
                    self._has_signs = True
            try:
                for place in range(start, start if texts else end):
                    content = decode_text(events[place]).choices[0].delta.content
                    if (
                        not content
                        or (mark and mark in content)
                        or (reads_each and has_sign and has_sign(content))
                    ):
                        break
                    texts.append(content)
            except (ValueError, RecursionError):
                pass  # `decode_chunk` reads the event that is not such a chunk
            if reads_each:
                self._has_signs = len(texts) < WITHOUT_SIGNS
            elif has_sign:
                content = "".join(texts)
                for first in firsts:
                    if first in content:
                        texts = before_sign(texts, has_sign)
                        self._has_signs = True
                        break
            if texts:
                self._content.think.last = texts[-1]
                if unread is not None:
                    unread += texts
                text.add(texts)
                self._unwatched += len(texts)
                if self._unwatched >= WATCHED:
                    self._poll()
                return len(texts)
        self.feed(decode_chunk(events[start]))
        return 1

    def take_text(self, data: bytes) -> Finish | None:
        """Read a non-streamed answer without events, if it is only a text; return how it ended.

        None: it must be passed to `read`.
        """
        writer = self._writer
        if writer.has_reader or writer.cite_files or self._sources or self._check or self.error:
            return None
        if writer.stops is not None:
            return None
        try:
            answer = decode_answer(data)
        except (ValueError, RecursionError):
            return None
        choice = answer.choices[0]
        text = choice.message.content
        if not text or text.isspace():
            return None
        if self._preopened or BARE_CLOSE in text or text.lstrip().startswith(OPENINGS):
            return None  # it can contain reasoning
        if self._callable and not self._is_text(text):
            return None
        outcome = FINISH_REASONS[choice.finish_reason]
        native = choice.native_finish_reason
        if native and outcome == "completed":
            outcome = native_outcome(native)
        status: Status = "completed" if outcome == "completed" else "incomplete"
        item = Message(
            id=self._writer.new_id("msg"),
            status=status,
            role="assistant",
            content=[OutputText(text=text)],
        )
        self._writer.add_item(item)
        return Finish(outcome, read_usage(answer.usage))

    def feed(self, chunk: ChatChunk) -> None:
        """Read a chunk. An `error` in it ends the answer; anything after it is ignored."""
        if self.error is not None or self._is_looping:
            return
        if not self._is_started:
            self._start()
        if chunk.usage:
            known = self._usage
            self._usage = chunk.usage if known is None else larger(known, chunk.usage)
        if chunk.error or chunk.x_groq or chunk.citations:
            self._feed_extras(chunk)
        elif chunk.base_resp or chunk.msg or chunk.message:
            self._flat_error = flat_error(chunk) or self._flat_error
        has_begun = self._content.has_begun
        for choice in chunk.choices or ():
            if not choice.index:
                self._feed_choice(choice, has_begun)
        self._text = None if self._calls.is_cut else self._content.steady_text
        self._mark = self._content.think.mark or ""
        self._search = self._content.search
        self._unwatched += 1
        if self._unwatched >= WATCHED:
            self._poll()

    def _poll(self) -> None:
        """Check whether the text or the reasoning only repeats itself: then the answer is over."""
        self._unwatched = 0
        if not self._loop_text:
            return
        watch = self._watch = self._watch or RepetitionWatch(self._loop_text)
        if watch.is_looping(self._content.pieces):
            self._is_looping = self.is_over = True
            self._text = None

    def finish(self, done: bool = False) -> Finish:
        """End the answer, `done` if the backend sent `[DONE]`; close open items, return how it
        ended.
        """
        if not self._is_started:
            self._start()
        error = self.error
        is_stopped = self._writer.stopped_by is not None
        if error is None and not (
            self._is_looping or is_stopped or self._finish_reason.lower() in FINISH_REASONS
        ):
            is_whole = self._is_plain or (
                done and not self._needs_reason and self._flat_error is None
            )
            is_whole = is_whole and self._content.has_begun
            error = end_error(self._finish_reason, is_whole=is_whole)
            if error is not None and self._flat_error is not None:
                error = self._read_error(self._flat_error)
        outcome = self._outcome()
        status: Status = "incomplete" if error or outcome != "completed" else "completed"
        content = self._content
        content.finish(status, self._citations)
        self._calls.open_named()
        content.close(status)
        self._calls.close(status)
        # Signatures can arrive last. They matter if calls are answered; nothing may follow
        # a truncated item.
        if content.state and self._calls and status == "completed":
            content.close_state(status)
        buffered: Sequence[StreamingCall | StreamingMessage] = self._calls.retained
        if content.retained:
            buffered = [*buffered, *content.retained]
        note = ("loop", "stopped") if self._is_looping else None
        return Finish(
            outcome, read_usage(self._usage), error, buffered, self._calls.are_used_up, note
        )

    def _feed_extras(self, chunk: ChatChunk) -> None:
        groq = chunk.x_groq if isinstance(chunk.x_groq, dict) else {}
        if groq.get("usage"):
            self._usage = larger(self._usage, groq["usage"])
        if isinstance(chunk.citations, list):
            self._citations = chunk.citations
        if error := chunk.error or groq.get("error"):
            self.is_over = True
            if not self._feed_written(error):
                self.error = self._read_error(error)
                if isinstance(error, dict) and error.get("code") == UNPARSED:
                    self.error.code = UNPARSED  # the model may write it correctly the next time

    def _read_error(self, value: Any) -> BackendError:
        if self._content.has_begun:
            return read_error(value)
        from antiphon.protocol.refused_answers import read_refusal  # noqa: PLC0415 - few answers are refusals

        return read_refusal(value)

    def _feed_written(self, error: Any) -> bool:
        """Read the calls in an error of Groq, which could not parse them; return whether it has
        any.
        """
        offers = _callable(self._offers, self._allowed) if self._offers else None
        if not (offers and isinstance(error, dict) and "failed_generation" in error):
            return False
        answer = answer_in(text_of(error), offers)
        choices = decode_chunk(answer).choices if answer else None
        if not choices:
            return False
        choice = choices[0]
        if self._content.has_begun and choice.message is not None:
            choice.message.content = None  # the stream has said it
        self._feed_choice(choice, has_begun=False)
        return True

    def _outcome(self) -> FinishReason:
        """Return how the answer ended. llama-cpp-python reports a truncated call as complete."""
        if self._is_looping:
            return "max_output_tokens"
        if self._writer.stopped_by is not None:
            return "completed"
        outcome = FINISH_REASONS.get(self._finish_reason.lower(), "completed")
        if self._native_reason and outcome == "completed":
            outcome = native_outcome(self._native_reason)
        if outcome != "completed" or self._cap is None or not self._calls.are_torn:
            return outcome
        usage = read_usage(self._usage)
        return "max_output_tokens" if usage is None or usage.output_tokens >= self._cap else outcome

    def _feed_choice(self, choice: ChatChoice, has_begun: bool) -> None:
        if choice.finish_reason and isinstance(choice.finish_reason, str):
            self._finish_reason = choice.finish_reason
        if choice.native_finish_reason:
            self._native_reason = choice.native_finish_reason
        if choice.usage:
            self._usage = larger(choice.usage, self._usage)
        delta = choice.delta
        if delta is None:
            # A non-streamed answer has a message. Perplexity's chunks have both, and their message
            # repeats the deltas.
            delta = choice.message
            if delta is None or has_begun:
                return
            self._is_plain = True
        writer = self._writer
        if writer.stopped_by is None and not self._calls.is_cut:
            self._content.feed(choice, delta)
        if writer.stopped_by is not None:
            self.is_over = True
        elif delta.tool_calls:
            for call in delta.tool_calls:
                self._feed_call(call)
        elif delta.function_call:
            # llama-cpp-python sends each call in both forms.
            self._feed_call({"index": 0, "function": delta.function_call})

    def _feed_call(self, value: Any) -> None:
        if not isinstance(value, dict):
            return
        content = self._content
        delta = read_call(value, content.surrogates)
        extra_content = value.get("extra_content")
        alongside = value.get("provider_specific_fields")
        if not (delta.id or delta.name or delta.arguments or extra_content or alongside):
            return
        call = self._calls.find(value.get("index"), delta)
        stored = {}
        if extra_content and is_shallow(extra_content):
            stored["extra_content"] = extra_content
        if (
            isinstance(alongside, dict)
            and alongside.get("thought_signature")
            and is_shallow(alongside)
        ):
            stored["provider_specific_fields"] = alongside
        if MAX_CALL_ID < len(delta.id) <= _LONGEST_ID and _SIGNATURE in delta.id:
            stored[SIGNED_ID] = delta.id
        if stored:
            call.stored |= stored
            content.state.save_for_call(self._calls.call_id(call, delta), stored)
        self._calls.feed(call, delta)


_SIGNATURE = "__thought__"
"""Stands before Gemini's signature in a call's id (litellm PR#16895)."""

_LONGEST_ID = 16_384
"""Characters of such an id that is stored; reports have 300 to 900."""


def _callable(offers: Mapping[str, Offer], allowed: Collection[str] | None) -> Mapping[str, Offer]:
    return (
        offers
        if allowed is None
        else {name: offer for name, offer in offers.items() if name in allowed}
    )


# The token counts, in the terms of the Responses API (specification section 3, `usage`).


def read_usage(value: Any) -> Usage | None:
    """Return the usage in this object, None without one.

    Backends differ in names, and in what `prompt_tokens` and `completion_tokens` exclude; here the
    total is input plus output, and no detail exceeds its total. A count that is not a number is 0.
    """
    if not isinstance(value, dict) or not value:
        return None
    counts = _counts(value)
    prompt = _counts(details) if (details := value.get("prompt_tokens_details")) else {}
    completion = _counts(details) if (details := value.get("completion_tokens_details")) else {}
    input_tokens = counts.get("prompt_tokens") or counts.get("input_tokens", 0)
    output_tokens = counts.get("completion_tokens") or counts.get("output_tokens", 0)
    cached = (
        prompt.get("cached_tokens")
        or counts.get("prompt_cache_hit_tokens")  # DeepSeek
        or counts.get("cache_read_input_tokens")
        or counts.get("cached_tokens", 0)
    )
    written = (
        prompt.get("cache_write_tokens")
        or prompt.get("cache_creation_tokens")
        or counts.get("cache_creation_input_tokens", 0)
    )
    reasoning = completion.get("reasoning_tokens") or counts.get("reasoning_tokens", 0)
    alongside = counts.get("total_tokens", 0) - input_tokens - output_tokens
    if alongside > 0:
        outside = _input_outside(
            alongside, input_tokens, (prompt.get("audio_tokens", 0), cached, written), reasoning
        )
        input_tokens += outside
        output_tokens += alongside - outside
    return Usage(
        input_tokens=input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=min(cached, input_tokens), cache_write_tokens=min(written, input_tokens)
        ),
        output_tokens=output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=min(reasoning, output_tokens)),
        total_tokens=input_tokens + output_tokens,
    )


def _input_outside(
    alongside: int, input_tokens: int, details: tuple[int, int, int], reasoning: int
) -> int:
    """Return how many of the tokens that only the total counts are input; the others are output.

    Mistral excludes audio from `prompt_tokens`, gateways before Bedrock tokens from the cache or
    written to it (Portkey PR#1211, livekit PR#6663). xAI and Gemini exclude reasoning from
    `completion_tokens`.
    """
    audio, cached, written = details
    if alongside == reasoning and cached <= input_tokens:
        return 0
    sums = {audio, cached, written, cached + written}
    return next(
        (count for count in (alongside, alongside - reasoning) if count > 0 and count in sums), 0
    )


def larger(known: Any, later: Any) -> Any:
    """Return the usage of a stream that counts: the one with more output, or with as much and more
    input, or the later.

    Backends repeat the usage while it grows, and some end with one of zeros (pi#2017), or split it:
    what the prompt cost first, what the answer cost at the end.
    """
    if not isinstance(later, dict) or not later:
        return known
    if not isinstance(known, dict) or not known:
        return later
    sizes = _size(known), _size(later)
    if sizes[1] >= sizes[0]:
        known, later, sizes = later, known, (sizes[1], sizes[0])
    if sizes[0][1] or not sizes[1][1]:
        return known
    prompt = {name: later[name] for name in _OF_PROMPT if name in later}
    return {name: value for name, value in known.items() if name != "total_tokens"} | prompt


_OF_PROMPT = (
    "prompt_tokens",
    "input_tokens",
    "prompt_tokens_details",
    "prompt_cache_hit_tokens",
    "cached_tokens",
)


def _size(usage: dict[str, Any]) -> tuple[int, int]:
    """Return the tokens of the output and of the input."""
    prompt = usage.get("prompt_tokens")
    completion = usage.get("completion_tokens")
    if (
        type(prompt) is int
        and type(completion) is int
        and prompt + completion == usage.get("total_tokens")
    ):
        return completion, prompt
    read = read_usage(usage)
    return (read.output_tokens, read.input_tokens) if read is not None else (0, 0)


def _counts(value: Any) -> dict[str, int]:
    """Return the counts of at least one, by name."""
    counts: dict[str, int] = {}
    for name, count in value.items() if isinstance(value, dict) else ():
        if isinstance(count, int | float) and 1 <= count < 2**53:
            counts[name] = int(count)
    return counts
