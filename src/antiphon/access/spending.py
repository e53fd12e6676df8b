"""Usage and cost of a request, and the prices of the models that can serve it."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from antiphon.errors import AntiphonError, ClientError, log
from antiphon.protocol.response import Usage
from antiphon.storage.operations import api_keys
from antiphon.storage.records.money import MoneyClaim
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.store import Store
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.prices import Prices
from antiphon.upstream.registry import ModelRegistry

OTHER = "other"
"""The model under which usage is counted if its backend accepts any name: clients invent names."""


class Weight(NamedTuple):
    """The tokens that a request is expected to take."""

    input_tokens: int = 0
    output_tokens: int = 0
    unbounded: int = 0
    """Answers of the request without a limit of their length; `output_tokens` has nothing for
    them.
    """

    def bounded(self, tokens: int) -> "Weight":
        """Return the weight with so many tokens for each answer without a limit."""
        return Weight(self.input_tokens, self.output_tokens + self.unbounded * tokens)


class SpentTokens(NamedTuple):
    """What a request used: as its backend reported it, else as many tokens as the texts look
    like.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""
    cost: int = 0
    """Nano-units; nothing for a model without a price."""


NOTHING_SPENT = SpentTokens()


def cost_of(target: ModelTarget, usage: Usage) -> int:
    """Return the cost of the tokens that a backend reported; nothing for a model without a
    price.
    """
    prices = target.prices
    if prices is None:
        return 0
    return prices.cost(
        usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens
    )


def highest_cost(targets: Iterable[ModelTarget], usage: Usage) -> int:
    """Return the cost of tokens at the most expensive backend that may have reported them."""
    return max((cost_of(target, usage) for target in targets), default=0)


def name_of(target: ModelTarget) -> str:
    """Return the name under which a model's usage is counted."""
    return target.name if target.state.called(target.name) is not None else OTHER


RESERVED = 1_000
"""Tokens that are reserved by default for an answer without a limit."""


class Tariff:
    """The prices of a server, and what it reserves.

    `alongside` returns the models that may be called in addition to the one in the request;
    `reserved_output` are the tokens that are reserved for an answer without a limit, of a model
    without such a setting.
    """

    def __init__(
        self,
        models: ModelRegistry,
        alongside: Callable[[], Sequence[str]] = tuple,
        reserved_output: int = RESERVED,
    ) -> None:
        self._models = models
        self._in_thread = alongside
        self._reserved = reserved_output

    async def bounded(self, model: str, weight: Weight) -> Weight:
        """Return the weight of a request with the tokens to reserve for each answer without a
        limit.

        They come from the settings for the model: the largest value if several backends can answer.
        """
        if not weight.unbounded:
            return weight
        try:
            found: Iterable[ModelTarget] = await self._models.candidates(model)
        except (
            AntiphonError
        ):  # the request fails later, when a backend is chosen for it or while it waits in a queue
            found = ()
        reserved = (
            self._reserved if one.reserved_output is None else one.reserved_output for one in found
        )
        return weight.bounded(max(reserved, default=self._reserved))

    async def claim(self, key: ApiKey, model: str, weight: Weight) -> MoneyClaim:
        """Return the highest expected cost of a request, and the budgets that it is charged to.

        Raises `ClientError` (400, `model_has_no_price`) if a backend without a known price could
        serve the request, and what `ModelRegistry.candidates` raises.
        """
        found = [
            target
            for name in (model, *self._in_thread())
            for target in await self._models.candidates(name)
        ]
        prices = Prices.highest(_price(target) for target in found)
        cost = prices.cost(weight.input_tokens, 0, weight.output_tokens)
        return MoneyClaim(key.tenant, key.id, cost, key.limits.budget, key.tenant_budget)


def _price(target: ModelTarget) -> Prices:
    if target.prices is None:
        raise ClientError(
            f"The model '{target.name[:100]}' has no price, and this API key or its tenant has "
            "a budget. Set `prices` for the model in the server's settings, or use another model.",
            code="model_has_no_price",
            param="model",
        )
    return target.prices


async def warn_of_unpriced(store: Store, models: ModelRegistry) -> None:
    """Log a warning if a budget applies and served models have no price: requests for them are
    rejected.
    """
    keys = await store.read(api_keys.every)
    is_budgeted = any(
        key.revoked_at is None and (key.limits.budget or key.tenant_budget) for key in keys
    )
    if not is_budgeted:
        return
    names = [model["id"] for model in models.list()]
    unpriced = [
        name for name in names if any(one.prices is None for one in await models.candidates(name))
    ]
    if unpriced:
        log.warning(
            "API keys with a budget cannot use %d of %d models, such as '%s': these have no price. "
            "Set `prices` in their tables of `models`.",
            len(unpriced),
            len(names),
            unpriced[0],
        )
