"""The turn machine: the next step for one response. It decides, `step_loop.py` performs.

CallModel ── refused(error) ──> CallModel, without the parameter or with less history
     └────── answered(ending) ──> [CallModel once more, for a call that it owes ──>] Finish

`agentic_turn.py` has the turns with more steps.
"""

from collections.abc import Callable, Generator, Mapping, Sequence

from msgspec.structs import replace

from antiphon.errors import AntiphonError, BackendError, ClientError, log
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.messages import InputItem, Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from antiphon.runs.corrections import NO_CALL, Corrected, corrections, question
from antiphon.runs.loops import STOPPED
from antiphon.runs.request_builder import RequestBuilder
from antiphon.runs.steps import (
    AttachFiles,
    AuxiliaryCall,
    CallModel,
    FinishRun,
    ModelResult,
    Step,
    Steps,
)
from antiphon.translation.checked_items import CheckedMessage
from antiphon.translation.files import UnreadFile
from antiphon.translation.to_chat_completions.prefix import joined
from antiphon.translation.tool_mapping.offering import Toolbox
from antiphon.translation.wire import Finish
from antiphon.upstream.backend_errors import too_long


class Turn:
    """The turn of a response with one model call.

    Call `next`, perform it, report the outcome, until `FinishRun`.
    """

    earlier: Usage | None = None
    """The tokens that were reported for earlier attempts."""

    def __init__(self, builder: RequestBuilder) -> None:
        self.builder = builder
        """Has the target; it changes after the first one failed before its first byte."""
        self._result: ModelResult | None = None
        self._usage: Usage | None = None
        self._has_called = False
        """The newest answer contains a call."""
        self._is_optional = False
        """The response is complete without this call."""
        self._cap = builder.request.max_output_tokens
        """The tokens that the model can generate in all its answers for the client."""
        self.steps: Steps | None = None
        """The decision logic, if more than a model call is needed; closed when
        no decision remains.
        """

    @property
    def usage(self) -> Usage | None:
        """The tokens reported for the response, including earlier attempts."""
        own = self.own_usage
        return own if self.earlier is None else added(self.earlier, own)  # without a call

    @property
    def own_usage(self) -> Usage | None:
        """Those of this attempt: of the answers that were read, and of one that was abandoned
        before its end.
        """
        return added(self._usage, self._result.ending.usage) if self._result else self._usage

    def abandoned(self, usage: Usage | None) -> None:
        """The answer is not read further; this usage was reported for it so far."""
        self._usage = added(self._usage, usage)

    def next(self) -> Step:
        """Return the next step. Raises `ClientError` for a request that this
        backend cannot serve.
        """
        if self.builder.is_too_long and not self.builder.shorten():
            self.failed(too_long())
        if self.steps is not None:
            return next(self.steps)
        result = self._result
        if result is None:
            return self._call()
        ending = result.ending
        if ending.retained:
            self.steps = self._finish_corrected()
            return next(self.steps)
        if self.builder.demands_call and self._owes_call(ending):
            self.steps = self._finish_called()
            return next(self.steps)
        usage = added(self._usage, ending.usage)
        self._usage = usage
        self._result = None
        return FinishRun(ending if usage is ending.usage else replace(ending, usage=usage))

    def is_late(self) -> None:
        """Handle the end of the time limit for server-side tools."""

    def answered(
        self,
        ending: Finish,
        items: Sequence[Item] = (),
        *,
        is_silent: bool = False,
        has_calls: bool = False,
    ) -> None:
        """The backend's answer was read to its end; `items` is its output if it was
        an internal call.

        Some backends report only in their answer that they refuse the request, such as a schema of
        which they cannot build a grammar (hermes-agent#67349, about LM Studio). Without output so
        far (`is_silent`), that is like an HTTP reply that refuses it.
        """
        error = ending.error
        if error is None:
            if self.builder.refusals is not None:
                self.builder.refusals.accepted()
        elif is_silent:
            try:
                self.builder.refused().learn_inside(error)
                self.abandoned(ending.usage)
                return
            except AntiphonError as reported:
                ending = replace(ending, error=reported.with_traceback(None))
        self._result = ModelResult(ending, items, is_silent)
        self._has_called = has_calls

    def requests_plain(self) -> bool:
        """The answer broke off without output.

        Return whether to send the request again without a stream.
        """
        return self.builder.requests_plain()

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above.

        Return if there is another way to continue; else raise the error.

        A parameter that the backend names as unsupported is omitted from then on (lessons L55).
        With `truncation: auto` an input that is too long loses its oldest turns.
        """
        try:
            self.builder.refused().learn(status, headers, body)
        except AntiphonError as error:
            self.failed(error)

    def failed(self, error: AntiphonError) -> None:
        """The backend could not be called.

        Raises the error, unless the response is complete without this call.
        """
        if not self._is_optional:
            refusals = self.builder.refusals
            raise (refusals.first if refusals is not None else None) or error
        error = BackendError(error.message, gist=error.gist, detail=str(error))
        self._result = ModelResult(Finish("completed", None, error), is_silent=True)
        self._has_called = False

    # Invalid output.

    def _finish_corrected(self) -> Steps:
        """Correct the invalid items of the answer, and finish."""
        result = self._taken()
        if result is not None:
            error = yield from self._corrections(result.ending)
            ending = result.ending
            yield FinishRun(
                Finish(ending.outcome, self.usage, error or ending.error, note=ending.note)
            )

    def _owes_call(self, ending: Finish) -> bool:
        """Whether the model has to be sent a demand for its missing call."""
        return not self._has_called and ending.outcome == "completed" and ending.error is None

    def _finish_called(self) -> Steps:
        """Request the call that the model owes, and finish."""
        result = self._taken()
        if result is not None:
            ending = yield from self._demand(result.ending)
            error = (yield from self._corrections(ending)) if ending.retained else None
            yield FinishRun(
                Finish(ending.outcome, self.usage, error or ending.error, note=ending.note)
            )

    def _demand(self, ending: Finish) -> Generator[Step, None, Finish]:
        """Request the call that the model owes once more, because its backend cannot be forced.

        The response is complete without it, unless the second answer fails after its first output.
        """
        if self._cap is not None and self._spent >= self._cap:
            return ending
        self._leave_rest()
        self._is_optional = True
        result = yield from self._send_request([Message(role="user", content=NO_CALL)])
        self._is_optional = False
        if not self._has_called:
            log.warning(
                "The model '%s' made no call, though the request demands one.",
                self.builder.target.name,
            )
        return ending if result.is_silent else result.ending

    def _leave_rest(self) -> None:
        """Limit the next answer to the tokens that the model can still generate."""
        if self._cap is not None:
            rest = max(1, self._cap - self._spent)
            self.builder.request = replace(self.builder.request, max_output_tokens=rest)

    @property
    def _spent(self) -> int:
        """The output tokens of the model so far, as far as the backend reported them."""
        usage = self.usage
        return usage.output_tokens if usage else 0

    def _send_request(self, more: Sequence[InputItem]) -> Generator[Step, None, ModelResult]:
        """Call the model with the conversation; `more` follows it for this call alone."""
        while (result := self._taken()) is None:
            try:
                step = self._call(more)
            except ClientError as error:  # this backend cannot serve it
                self.failed(error)
            else:
                yield step
        return result

    def _call(self, more: Sequence[InputItem] = ()) -> Step:
        """Return the call of the model with the conversation and `more`, or what
        is needed before it.
        """
        builder = self.builder
        try:
            built = builder.build(
                builder.request, joined(builder.items, more) if more else builder.items
            )
            if builder.target.may_have_window:
                built = builder.fitted(
                    built, lambda: builder.build(builder.request, joined(builder.items, more))
                )
        except UnreadFile as unread:
            return AttachFiles(unread.part, unread.form)
        if built.note == STOPPED:
            return FinishRun(Finish("max_messages", self._usage, note=STOPPED))
        return CallModel(
            built.body,
            built.toolbox,
            built.allowed,
            built.api,
            built.check,
            built.note,
            adjusted=built.adjusted,
        )

    def _corrections(self, ending: Finish) -> Generator[Step, None, AntiphonError | None]:
        """Correct the invalid items of the answer. Return the error if the response fails."""
        if any(isinstance(retained, CheckedMessage) for retained in ending.retained):
            self.builder.target.breaks_schemas = True
        return (yield from corrections(ending, self._retry_request))

    def _retry_request(self, retained: Corrected) -> Generator[Step, None, ModelResult]:
        """Request an item again; without it, the response is still complete."""
        self._is_optional = True
        items = self._conversation() if isinstance(retained, CheckedMessage) else self.builder.items
        answer = yield from self._call_auxiliary(
            lambda: question(self.builder.request, items, retained)
        )
        self._is_optional = False
        return answer

    def _call_auxiliary(
        self,
        what: Callable[[], tuple[CreateResponse, Sequence[InputItem]]],
        *,
        compacts: bool = False,
    ) -> Generator[Step, None, ModelResult]:
        """Call the model for output that the client does not see."""
        builder = self.builder
        while (result := self._taken()) is None:
            try:
                built = builder.build(*what(), self._limit_tools)
                if builder.target.may_have_window:
                    built = builder.fitted(built, lambda: builder.build(*what(), self._limit_tools))
            except ClientError as error:  # this backend cannot serve it
                self.failed(error)
            except UnreadFile as unread:
                yield AttachFiles(unread.part, unread.form)
            else:
                yield AuxiliaryCall(built.body, built.toolbox, built.allowed, built.api, compacts)
        return result

    def _taken(self) -> ModelResult | None:
        """Return the result that was not processed yet, with its tokens counted."""
        result = self._result
        if result is not None:
            self._usage = self.own_usage
            self._result = None
        return result

    def _conversation(self) -> Sequence[InputItem]:
        """Return the items so far."""
        return self.builder.items

    def _limit_tools(self, toolbox: Toolbox) -> None:
        """Remove tools that have reached their limit of calls from the tools offered
        to the model.
        """


def added(before: Usage | None, more: Usage | None) -> Usage | None:
    """Return the tokens of two model calls together."""
    if before is None or more is None:
        return before or more
    return Usage(
        input_tokens=before.input_tokens + more.input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=before.input_tokens_details.cached_tokens
            + more.input_tokens_details.cached_tokens,
            cache_write_tokens=before.input_tokens_details.cache_write_tokens
            + more.input_tokens_details.cache_write_tokens,
        ),
        output_tokens=before.output_tokens + more.output_tokens,
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=before.output_tokens_details.reasoning_tokens
            + more.output_tokens_details.reasoning_tokens
        ),
        total_tokens=before.total_tokens + more.total_tokens,
    )
