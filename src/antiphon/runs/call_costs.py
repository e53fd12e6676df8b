"""What the calls of models for one response cost: the tokens that backends report, else those that
the texts have.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, to_builtins

from antiphon.access.spending import SpentTokens, cost_of, highest_cost, name_of
from antiphon.protocol.items.content import Item
from antiphon.protocol.response import Usage
from antiphon.runs.turn import added
from antiphon.translation.to_chat_completions.tokens import request_tokens, tokens_of
from antiphon.upstream.backend_state import ModelTarget


class Unreported(NamedTuple):
    """A call with unreported tokens: the backend omitted them, or the client disconnected
    before they came.
    """

    body: Mapping[str, Any]
    stated: Callable[[], list[Item]] = list
    """Returns the items of its answer."""


class CallCosts(Struct):
    """Besides the turn's count: a response also costs calls that the turn never sees."""

    cost: int = 0
    """The cost of the calls with reported tokens."""
    described: Usage | None = None
    """The tokens for descriptions of images."""
    unreported: list[Unreported] = []

    def add_description(self, usage: Usage, targets: Iterable[ModelTarget]) -> None:
        """Add the call of a model that has described an image: any of these can have answered."""
        self.described = added(self.described, usage)
        self.cost += highest_cost(targets, usage)

    def spent(self, own: Usage | None, target: ModelTarget) -> SpentTokens:
        """Return all tokens: `own` as the turn counts them, those of descriptions, and an estimate
        for calls without a report, at the price of the target that was called last.
        """
        described = self.described or Usage()
        usage = added(own, described) or described
        cost = self.cost
        guessed = Usage()
        if self.unreported:
            guessed = self._guessed()
            cost += cost_of(target, guessed)
        return SpentTokens(
            usage.input_tokens + guessed.input_tokens,
            usage.output_tokens + guessed.output_tokens,
            usage.input_tokens_details.cached_tokens,
            name_of(target),
            cost,
        )

    def counted(self, reported: Usage | None) -> Usage:
        """Return all tokens of a response: `reported` for it, those of descriptions, and an
        estimate for calls without a report.
        """
        usage = added(reported, self.described)
        return added(usage, self._guessed() if self.unreported else None) or Usage()

    def _guessed(self) -> Usage:
        stated = [item for one in self.unreported for item in one.stated()]
        return Usage(
            input_tokens=sum(request_tokens(one.body) for one in self.unreported),
            output_tokens=_tokens_of_items(stated),
        )


def estimated(body: Mapping[str, Any], items: Sequence[Item]) -> Usage:
    """Return the usage of a call by its request and the items of its answer."""
    read = request_tokens(body)
    written = _tokens_of_items(items)
    return Usage(input_tokens=read, output_tokens=written, total_tokens=read + written)


def _tokens_of_items(items: Sequence[Item]) -> int:
    return tokens_of({"messages": to_builtins(items)}, priming=0)
