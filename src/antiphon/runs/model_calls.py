"""Calls models for one response: selects the stream reader for each API, and reports the outcome
to the turn.

The turn receives how a call ended, the writer the model's output, and the observers everything.
"""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from antiphon.access.cache_salt import PARAMETER, salt_of
from antiphon.access.spending import SpentTokens, cost_of
from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.protocol.schemas import JUDGE
from antiphon.runs.call_costs import CallCosts, Unreported, estimated
from antiphon.runs.parts import RunParts
from antiphon.runs.plan import RunPlan
from antiphon.runs.prompt_reuse import compare, prompt_of
from antiphon.runs.steps import AuxiliaryCall, CallModel
from antiphon.runs.tool_policy import IGNORED, inspect_tools, plain_types
from antiphon.runs.turn import Turn
from antiphon.sharing.loading import load_if_installed
from antiphon.sizes import LARGE
from antiphon.telemetry.observers import ObservedCall, ResponseRecord
from antiphon.translation.dialects.dialect import Api, effort_in
from antiphon.translation.from_chat.failed_generation import answer_of
from antiphon.translation.from_chat.reader import ChatStream
from antiphon.translation.from_responses.reader import ResponsesStream
from antiphon.translation.to_chat_completions.adjustments import applied
from antiphon.translation.to_chat_completions.cut_prompts import is_cut, message_of
from antiphon.translation.to_chat_completions.prefix import encode_body, is_quick
from antiphon.translation.to_chat_completions.quotations import mentions
from antiphon.translation.to_chat_completions.request import output_cap
from antiphon.translation.to_chat_completions.reuse import Fingerprint
from antiphon.translation.to_chat_completions.tokens import tokens_of
from antiphon.translation.to_responses.request import RENAMES
from antiphon.translation.wire import MAX_PLAIN_ANSWER, AnswerReader, AnswerStream, Finish
from antiphon.translation.writer import ResponseWriter
from antiphon.upstream.call import BROKEN, BackendRefusal, UpstreamReply, attempt
from antiphon.upstream.retry_policy import rejected

if TYPE_CHECKING:
    from antiphon.history.vision import Vision

JSON_TYPES = {"application/json", "text/json"}


class ModelStream:
    """An answer of the model while it is read: for the client, or one that the
    turn requested internally.
    """

    __slots__ = (
        "before",
        "clock",
        "ending",
        "has_begun",
        "is_broken",
        "is_checked",
        "is_plain",
        "last_chunk_at",
        "parts",
        "reader",
        "seen",
        "size",
        "stream",
        "unread",
        "upstream",
        "writer",
    )

    def __init__(
        self,
        upstream: UpstreamReply[ObservedCall],
        writer: ResponseWriter,
        stream: AnswerStream,
        *,
        is_checked: bool,
        is_stream: bool,
    ) -> None:
        reply = upstream.reply
        self.upstream = upstream
        self.writer = writer
        self.stream = stream
        # Some backends answer a request for a stream with one JSON object: it is read as it comes,
        # as a stream is.
        is_json = (
            reply.headers.get("content-type") in JSON_TYPES or reply.content_type in JSON_TYPES
        )
        self.is_plain = is_json and not is_stream
        """The answer is awaited as a whole: no stream was requested, and none is announced."""
        self.reader = AnswerReader(stream, is_json)
        self.is_checked = is_checked
        """Its text is searched for calls or checked against a schema:
        work that grows with its size.
        """
        self.size = self.unread = 0
        """Bytes of an answer that is checked: in total, and since its last whole event."""
        self.ending: Finish | None = None
        """How it ended, if that was computed in a thread."""
        self.has_begun = False
        """Its first item has been reported: bytes before that, such as comments, are no token."""
        self.is_broken = False
        """It broke off before its end."""
        self.before = before = writer.newest
        """The newest item of the writer when the answer began."""
        reply.has_begun = lambda: (
            writer.newest != before
        )  # no reference to this object, which refers to the reply
        if not self.is_plain:
            self.parts = aiter(reply.body)
            self.clock = asyncio.get_running_loop().time
            self.seen, self.last_chunk_at = 0, self.clock()
            """How many chunks had arrived at the time of the last one, and when that was."""

    def finish(self) -> None:
        """Read the rest of the answer, and check it."""
        self.ending = self.reader.finish()

    def has_output(self) -> bool:
        """Whether the answer has produced any output yet."""
        return self.writer.newest != self.before

    def check_silence(self) -> None:
        """Note bytes without a chunk.

        Raises `BackendError` if an answer that began has had no chunk for too long.

        The backend's client handles complete silence, and silence before the first chunk.
        """
        if (
            self.has_output()
            and self.clock() - self.last_chunk_at > self.upstream.reply.idle_timeout
        ):
            raise BackendError("The backend keeps the connection open, but sends no data.")


class ModelCaller:
    """All calls of models for one response, along one route.

    open(step) ──> conclude(stream), after it was read to its end ──> close()    for each step that
    calls a model
    """

    def __init__(
        self,
        plan: RunPlan,
        turn: Turn,
        writer: ResponseWriter,
        parts: RunParts,
    ) -> None:
        self._plan = plan
        self._offload = parts.offload
        self._turn = turn
        self._writer = writer
        self._route = plan.route
        self._observers = parts.observers
        self._models = parts.models
        self._vision = parts.vision
        self.costs = CallCosts()
        """What the calls cost besides the turn's count."""
        self._request = plan.request
        tenant = plan.context.tenant
        self._chain = f"{tenant}\0{plan.response.id}"  # `chain_of`, without the call
        """The name of this response's chain for later responses."""
        self._prompts = parts.prompts
        self._prompt: Fingerprint | None = None
        """The prompt that was sent last, if prompts are compared."""
        self._newest: AnswerStream | None = None
        """The newest answer for the client."""
        self._call: ObservedCall | None = None
        """The attempt in progress."""
        self._upstream: UpstreamReply[ObservedCall] | None = None
        self._stream: ModelStream | None = None
        self._before: tuple[Sequence[str], dict[str, Any]] = [], {}
        """What was adjusted in the response before the newest call, and the fields that differ."""

    @property
    def prompt(self) -> Fingerprint | None:
        """The prompt that was sent last, if prompts are compared."""
        return self._prompt

    @property
    def has_calls(self) -> bool:
        """Whether the answer that is being read contains a call."""
        return self._newest is not None and self._newest.has_calls

    def choose(self) -> None:
        """Select the best backend now: other requests may have arrived since this one did."""
        route = self._route
        if not route.is_settled:
            route.reselect()
        target = route.target
        if target is not self._turn.builder.target or target.name != self._writer.response.model:
            self._follow()

    async def open(
        self, record: ResponseRecord, step: CallModel | AuxiliaryCall
    ) -> ModelStream | None:
        """Call the model; return its answer, to be read.

        None: the turn decides what to do instead.
        """
        route = self._route
        plan = self._plan
        # The turn built the body for one target, which was paused meanwhile:
        # another one may need another body.
        if route.target.state.health.pauses and route.redirect():
            self._follow()
            return None

        # Loaded in a thread, and before the slot is acquired: few responses need this large module.
        if (
            isinstance(step, CallModel)
            and (step.check is not None or step.toolbox.offers)
            and JUDGE not in sys.modules
        ):
            await self._load_judge(step)
        # A model without vision would ignore an image, or reject the request: another model
        # describes it first.
        profile = route.target.profile
        if profile is not None and profile.vision is False and self._vision is not None:
            described = await self._described(step, self._vision)
            if described is None:
                return None
            step = described

        context = plan.context
        # Without it, a tenant could find out by the speed of an answer what others have sent
        # (vLLM's prefix cache).
        if route.target.state.options.cache_salt:
            step.body[PARAMETER] = salt_of(context.tenant)
        # The messages of a chain are stored as JSON too, so most of a long body may need no
        # encoding at all. Compared here: each small request would pay for two calls.
        work = context.work if context.prefix is None else context.work_with_chain
        if work <= LARGE or is_quick(step.body):
            body = encode_body(step.body)
        else:
            body = await self._offload.in_thread(context.tenant, encode_body, step.body, work)
        # What the backend's prefix cache can reuse of the prompt before:
        # compared once the answer is complete.
        self._prompt = None
        if route.target.dialect.prefix_cache and self._prompts is not None:
            self._prompt = await prompt_of(step, plan, self._offload)

        try:
            # From here on a slot is held, which `attempt` or `close` releases.
            await route.acquire()
            self._call = call = ObservedCall(record, route.target, step.body, sent=body)
            upstream = self._upstream = await attempt(
                route,
                route.target.chat_path if step.api == "chat" else "/responses",
                body,
                self._observers,
                call,
                rename=RENAMES[step.api],
                on_refusal=partial(self._refused, step),
                records_status=True,
            )
        except AntiphonError as error:
            self._turn.failed(error)
            return None

        # Another target, or a rejection that taught the turn something: in both cases the body must
        # be built again.
        if upstream is None:
            self._follow()
            return None
        self._stream = self._answer_of(record, step, upstream, body)
        return self._stream

    def _answer_of(
        self,
        record: ResponseRecord,
        step: CallModel | AuxiliaryCall,
        upstream: UpstreamReply[ObservedCall],
        body: bytes,
    ) -> ModelStream:
        """Return the answer that a backend has begun, and note what it is sent and cannot use."""
        plan = self._plan
        # An internal call has a writer of its own, since the client receives none of its output.
        writer = self._writer if isinstance(step, CallModel) else self._writer.aside()
        # Only now: a body that a backend has rejected says nothing about the response.
        ignored = upstream.reply.headers.get(IGNORED)
        self._before = record.adjusted, self._writer.applied
        if isinstance(step, CallModel) and step.adjusted:
            self._note_adjusted(record, step)
        if ignored or plan.request.tools is not None or plan.tools is not None:
            self._note_tools(record, step.api, ignored)
        is_checked = bool(step.toolbox.offers) or (
            isinstance(step, CallModel) and step.check is not None
        )
        return ModelStream(
            upstream,
            writer,
            self._reader(writer, step, body),
            is_checked=is_checked,
            is_stream=bool(step.body.get("stream")),
        )

    async def _described(
        self, step: CallModel | AuxiliaryCall, vision: "Vision"
    ) -> CallModel | AuxiliaryCall | None:
        """Return the step without images; None if one cannot be described, and the turn decides
        what to do instead.
        """
        from antiphon.runs.image_descriptions import with_descriptions  # noqa: PLC0415 - few settings name a model for images

        try:
            return await with_descriptions(step, self._plan, vision, self._models, self.costs)
        except AntiphonError as error:
            self._turn.failed(error)
            return None

    def _note_adjusted(self, record: ResponseRecord, step: CallModel) -> None:
        """Record what the backend is sent differently than the client wrote it,
        in the response too.
        """
        record.adjusted = [*dict.fromkeys((*record.adjusted, *step.adjusted))]
        changed = applied(self._writer.response, step.adjusted, effort_in(step.body))
        self._writer.applied = {**self._writer.applied, **changed}

    async def _load_judge(self, step: CallModel) -> None:
        """Load the module that checks answers against schemas, if this answer must match one."""
        if step.check is not None or step.toolbox.checks_schemas:
            await load_if_installed(JUDGE)  # without it, the answer stays unchecked

    async def read_whole(self, stream: ModelStream) -> None:
        """Read an answer that is one JSON object. Raises `BackendError` if it breaks off."""
        body = await stream.upstream.reply.read(MAX_PLAIN_ANSWER)
        if body:
            stream.has_begun = True
            stream.upstream.spoke()
        stream.size = len(body)
        stream.reader.feed(body)

    async def close(self) -> None:
        """Release the backend. An answer that was not read to its end is closed as incomplete,
        to be stored.
        """
        stream = self._stream
        self._stream = None
        upstream = self._upstream
        self._upstream = None
        call = self._call
        self._call = None
        try:
            if stream is not None:
                self._turn.abandoned(self._end(stream).usage)
        finally:
            if upstream is not None:
                await upstream.close()
            elif call is not None and call.error is None:
                self.costs.unreported.append(Unreported(call.body))

    def spent(self) -> SpentTokens:
        """Return the tokens used: as reported, else estimated from the texts."""
        return self.costs.spent(self._turn.own_usage, self._route.target)

    def _note_tools(self, record: ResponseRecord, api: Api, header: str | None) -> None:
        """Note which tools are omitted: here, or by another Antiphon as the backend,
        from its header.
        """
        plan = self._plan
        if header:
            record.ignored_tools = plain_types(header)
        else:
            supported = plan.tools.supported if plan.tools else ()
            record.ignored_tools = inspect_tools(
                plan.request, plan.items, api, supported, refuses=False
            )

    def _reader(
        self, writer: ResponseWriter, step: CallModel | AuxiliaryCall, body: bytes
    ) -> AnswerStream:
        """Return the reader of the answer for its API."""
        only_one = self._request.parallel_tool_calls is False
        # `own` is the step if its output is for the client: an internal answer cites nothing, and
        # calls no tool of this server.
        own = step if isinstance(step, CallModel) else None
        target = self._route.target
        stream: AnswerStream
        writer.stopped_by = None
        writer.cite_files = own.cite_files if own is not None and step.api == "chat" else None
        if step.api == "responses":
            stream = ResponsesStream(writer, call_ids=self._plan.call_ids, only_one=only_one)
        else:
            stream = ChatStream(
                writer,
                offers=step.toolbox.offers,
                allowed=step.allowed,
                call_ids=self._plan.call_ids | own.call_ids if own else self._plan.call_ids,
                only_one=only_one,
                hosted_left=own.hosted_left if own else 0,
                text_calls=step.toolbox.in_text,
                sources=own.sources if own else None,
                preopened=target.preopened,
                is_quoted=partial(mentions, body),
                needs_reason=not target.dialect.ends_without_finish_reason,
                cap=output_cap(step.body),
                check=own.check if own else None,
                loop_text=target.state.options.loop_text if target.dialect.checks_answers else 0,
            )
        if own is not None:
            # Steering looks at it: once the answer contains a call, it does not stop the response.
            self._newest = stream
            if own.note is not None:
                self._writer.notes.append(own.note)
        return stream

    def conclude(self, stream: ModelStream) -> None:
        """The answer was read to its end: report to the turn how it ended."""
        self._stream = None
        ending = self._end(stream)
        call = stream.upstream.record
        answer = stream.stream
        call.ending = ending
        call.error = ending.error
        call.has_calls = answer.has_calls
        # Without output, the client knows nothing of this attempt, so another backend, or the turn,
        # can replace it.
        is_silent = ending.error is not None and not stream.has_output()
        if ending.error is None:
            if not stream.has_begun:
                stream.upstream.spoke()  # all of it was held until its end
            if stream.upstream.target.dialect.cuts_prompts:
                self._check_prompt(stream, ending)
                call.error = ending.error
            # From now on this backend is preferred, because the prompt's beginning is in its cache.
            self._route.succeeded(self._chain)
            if self._prompt is not None and self._prompts is not None:
                compare(
                    self._prompts,
                    self._prompt,
                    call.body,
                    plan=self._plan,
                    to=call.target,
                    chain=self._chain,
                )
        elif not self._is_settled(stream, ending.error, is_silent=is_silent):
            return
        # The items of an answer for the client are in the response already; the turn needs those of
        # its own calls.
        items = [] if stream.writer is self._writer else stream.writer.output
        self._turn.answered(ending, items, is_silent=is_silent, has_calls=call.has_calls)
        self._route.target.preopened = answer.preopened

    def _check_prompt(self, stream: ModelStream, ending: Finish) -> None:
        """Turn the answer to a prompt that the backend has truncated into an error."""
        target = stream.upstream.target
        body = stream.upstream.record.body
        usage = ending.usage
        if (
            usage is None
            or "messages" not in body
            or not is_cut(body, usage.input_tokens, target.window)
        ):
            return
        message = message_of(target.name, usage.input_tokens, tokens_of(body))
        ending.error = ClientError(message, code="context_length_exceeded", param="input")

    def _end(self, stream: ModelStream) -> Finish:
        ending = stream.reader.finish() if stream.ending is None else stream.ending
        refused = (
            ending.error
            if isinstance(ending.error, BackendError) and ending.error.refusal
            else None
        )
        if refused is not None and stream.has_output():
            # a failure, after output
            refused.refusal = None
            refused.status = BackendError.status
            refused = None
        if ending.usage is None and stream.writer.stopped_by is not None:
            # The backend had no time to report it.
            written = stream.writer.between(stream.before, stream.writer.newest)
            ending.usage = estimated(stream.upstream.record.body, written)
        if ending.usage is not None:
            if stream.upstream.target.prices is not None:
                self.costs.cost += cost_of(stream.upstream.target, ending.usage)
        elif refused is None:  # a refusal costs no tokens
            stated = partial(stream.writer.between, stream.before, stream.writer.newest)
            self.costs.unreported.append(Unreported(stream.upstream.record.body, stated))
        return ending

    # Failures.

    def _refused(self, step: CallModel | AuxiliaryCall, refusal: BackendRefusal) -> bytes | None:
        """The backend answered 400 or above, and no other is called: the turn finds another way, or
        raises an error.

        Returns an answer that is inside the refusal.
        """
        offers = step.toolbox.offers
        allowed = step.allowed
        if allowed is not None:
            offers = {name: offer for name, offer in offers.items() if name in allowed}
        if offers and (answer := answer_of(refusal.body, offers)) is not None:
            return answer
        self._turn.refused(refusal.status, refusal.headers, refusal.body)
        return None

    def _is_settled(self, stream: ModelStream, error: AntiphonError, *, is_silent: bool) -> bool:
        """Return whether a failed answer counts; if it produced no output, another backend
        can replace it.
        """
        if is_silent and self._turn.requests_plain():
            return False
        failure = BROKEN if stream.is_broken else rejected(error.status, {}, error)
        if not is_silent:
            stream.upstream.report_failure(failure, error)
            return True
        if not stream.upstream.fail_over(failure, error):
            return True
        if (record := stream.upstream.record.record) is not None:
            record.adjusted, self._writer.applied = self._before
        self._follow()
        return False

    def _follow(self) -> None:
        """Set the model that answers: it can be a `fallback` of the requested one."""
        self._turn.builder.target = target = self._route.target
        self._writer.response.model = target.name
