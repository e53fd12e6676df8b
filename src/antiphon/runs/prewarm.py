"""A response that only fills the backend's prompt cache: `prompt_cache_options.prewarm`
(specification section 24).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Usage
from antiphon.runs.steps import FinishRun, Step, Steps
from antiphon.runs.turn import Turn
from antiphon.translation.wire import Finish


class WarmingTurn(Turn):
    """Sends the prompt for one token of output, which no client sees, to a backend
    that caches prompts.

    Another backend is not called. The response has no output, and its usage has no output tokens.
    """

    def next(self) -> Step:
        """Return the next step. Raises as `Turn.next`."""
        self.steps = self.steps or self._warm()
        return next(self.steps)

    def _warm(self) -> Steps:
        error = None
        if self.builder.target.dialect.prefix_cache:
            result = yield from self._call_auxiliary(self._least)
            error = result.ending.error
        yield FinishRun(Finish("completed", _without_output(self.own_usage or Usage()), error))

    def _least(self) -> tuple[CreateResponse, Sequence[InputItem]]:
        """Return the request for the same prompt and the shortest answer."""
        return replace(
            self.builder.request, max_output_tokens=1, top_logprobs=None, include=None
        ), self.builder.items


def _without_output(usage: Usage) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens,
        input_tokens_details=usage.input_tokens_details,
        total_tokens=usage.input_tokens,
    )
