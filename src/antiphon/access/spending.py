"""What a request used and costs, and the prices of the models that may serve it."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from antiphon.errors import ClientError, log
from antiphon.protocol.response import Usage
from antiphon.storage.contract import ApiKey, MoneyClaim, Store
from antiphon.upstream.backend_state import Target
from antiphon.upstream.prices import Prices
from antiphon.upstream.registry import ModelRegistry

OTHER = "other"
"""The model under which usage is counted where its backend serves any name: clients make up names."""


class Weight(NamedTuple):
    """The tokens that a request is expected to take."""

    input_tokens: int = 0
    output_tokens: int = 0


class Spent(NamedTuple):
    """What a request used: as its backend reported it, else as many tokens as the texts look like."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""
    cost: int = 0
    """Nano-units; nothing for a model without a price."""


NOTHING_SPENT = Spent()


def cost_of(target: Target, usage: Usage) -> int:
    """Return what the tokens cost that a backend reported; nothing where the model has no price."""
    prices = target.prices
    if prices is None:
        return 0
    return prices.cost(usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens)


def highest_cost(targets: Iterable[Target], usage: Usage) -> int:
    """Return what tokens cost where they are dearest, of the places that may have reported them."""
    return max((cost_of(target, usage) for target in targets), default=0)


def name_of(target: Target) -> str:
    """Return the name under which a model's usage is counted."""
    return target.name if target.state.called(target.name) is not None else OTHER


class Tariff:
    """The prices of a server. `beside` returns the models that may be called beside the one that a request names."""

    def __init__(self, models: ModelRegistry, beside: Callable[[], Sequence[str]] = tuple) -> None:
        self._models, self._beside = models, beside

    async def claim(self, key: ApiKey, model: str, weight: Weight) -> MoneyClaim:
        """Return what a request is expected to cost at most, and the budgets that it comes from.

        Raises `ClientError` (400, `model_has_no_price`) where a backend could serve the request at no known price,
        and what `ModelRegistry.candidates` raises.
        """
        found = [target for name in (model, *self._beside()) for target in await self._models.candidates(name)]
        prices = Prices.highest(_price(target) for target in found)
        cost = prices.cost(weight.input_tokens, 0, weight.output_tokens)
        return MoneyClaim(key.tenant, key.id, cost, key.limits.budget, key.tenant_budget)


def _price(target: Target) -> Prices:
    if target.prices is None:
        raise ClientError(
            f"The model '{target.name[:100]}' has no price, and this API key or its tenant has a budget. Set "
            "`prices` for the model in the server's settings, or use another model.",
            code="model_has_no_price",
            param="model",
        )
    return target.prices


async def warn_of_unpriced(store: Store, models: ModelRegistry) -> None:
    """Log a warning where a budget applies and models that are served have no price: requests for them are rejected."""
    keys = await store.api_keys()
    is_budgeted = any(key.revoked_at is None and (key.limits.budget or key.tenant_budget) for key in keys)
    if not is_budgeted:
        return
    names = [model["id"] for model in models.list()]
    unpriced = [name for name in names if any(one.prices is None for one in await models.candidates(name))]
    if unpriced:
        log.warning(
            "API keys with a budget cannot use %d of %d models, such as '%s': these have no price. Set `prices` in "
            "their tables of `models`.",
            len(unpriced),
            len(names),
            unpriced[0],
        )
