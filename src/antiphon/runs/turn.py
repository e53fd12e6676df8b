"""The turn machine: what to do next for one response. It decides, `run.py` does.

CallModel ── refused(error) ──> CallModel, without the parameter or with less history
     └────── answered(ending) ──> Finish

`agentic_turn.py` has the turns that do more than that.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from antiphon.errors import AntiphonError
from antiphon.protocol.items.content import Item
from antiphon.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from antiphon.runs.model_request import RequestBuilder
from antiphon.runs.steps import CallModel, FinishRun, Step, Steps
from antiphon.translation.from_chat.reader import Finish
from antiphon.upstream.backend_errors import is_overflow, too_long


class ModelResult(Struct, frozen=True):
    """How one call of the model ended, and the items that it made."""

    ending: Finish
    items: Sequence[Item] = ()


class Turn:
    """One response's turn: the model is asked once. Ask `next`, do it, report the outcome, until `FinishRun`."""

    def __init__(self, builder: RequestBuilder) -> None:
        self.builder = builder
        """Has the target; another one once that one failed before its first byte."""
        self._result: ModelResult | None = None
        self._usage: Usage | None = None
        self.steps: Steps | None = None
        """What is decided, where that is more than to ask the model; to be closed when nothing more is."""

    @property
    def usage(self) -> Usage | None:
        """The tokens that were reported for the response, by earlier attempts too."""
        return self.own_usage

    @property
    def own_usage(self) -> Usage | None:
        """Those of this attempt: of the answers that were read, and of one that was abandoned before its end."""
        return added(self._usage, self._result.ending.usage) if self._result else self._usage

    def abandoned(self, usage: Usage | None) -> None:
        """The answer is not read further; so much was reported for it until now."""
        self._usage = added(self._usage, usage)

    def next(self) -> Step:
        """Return what to do now. Raises `ClientError` for a request that this backend cannot be asked."""
        result = self._result
        if result is None:
            builder = self.builder
            built = builder.build(builder.request, builder.items)
            return CallModel(built.body, built.toolbox, built.allowed, built.api)
        ending = result.ending
        usage = ending.usage if self._usage is None else added(self._usage, ending.usage)
        self._usage, self._result = usage, None
        return FinishRun(ending if usage is ending.usage else replace(ending, usage=usage))

    def is_late(self) -> None:
        """The time that this server's own tools may take is over."""

    def answered(self, ending: Finish, items: Sequence[Item] = (), *, is_silent: bool = False) -> None:
        """The backend's answer was read to its end; `items` is what it made, where it was asked aside.

        Some backends say only in their stream that the input is too long. As long as nothing was said (`is_silent`),
        that is like a refusal.
        """
        if ending.error is None:
            if self.builder.suspects is not None:
                self.builder.confirm()
        elif is_silent and is_overflow(ending.error):
            if self.builder.shorten():
                return
            ending = replace(ending, error=too_long())
        self._result = ModelResult(ending, items)

    def asks_plainly(self) -> bool:
        """The answer broke off before anything was said. Return whether it is asked for again, as no stream."""
        return self.builder.asks_plainly()

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """The backend answered 400 or above. Returns if there is another way to go on; else raises what to report.

        A parameter that the backend names as unsupported is left out from now on (lessons L55). With
        `truncation: auto` an input that is too long loses its oldest part.
        """
        try:
            self.builder.learn(status, headers, body)
        except AntiphonError as error:
            self.failed(error)

    def failed(self, error: AntiphonError) -> None:
        """The backend could not be asked. Raises the error, unless the response is whole without what was asked."""
        raise error


def added(before: Usage | None, more: Usage | None) -> Usage | None:
    """Return the tokens of two calls of the model together."""
    if before is None or more is None:
        return before or more
    return Usage(
        input_tokens=before.input_tokens + more.input_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=before.input_tokens_details.cached_tokens + more.input_tokens_details.cached_tokens,
            cache_write_tokens=before.input_tokens_details.cache_write_tokens
            + more.input_tokens_details.cache_write_tokens,
        ),
        output_tokens=before.output_tokens + more.output_tokens,
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=before.output_tokens_details.reasoning_tokens + more.output_tokens_details.reasoning_tokens
        ),
        total_tokens=before.total_tokens + more.total_tokens,
    )
