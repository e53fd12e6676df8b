"""What a request costs by the prices of the backends, and who is warned of models without one."""

from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.access.spending import Tariff, Weight, highest_cost, warn_of_unpriced
from antiphon.protocol.response import InputTokensDetails, Usage
from antiphon.storage.operations import api_keys
from antiphon.storage.records.money import Budget, MoneyClaim
from antiphon.storage.records.tenants import KeyLimits
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.prices import Prices
from antiphon.upstream.registry import ModelRegistry
from tests.store.making import new_key
from tests.support.parts import Listed

CHEAP = Prices(1_000_000, 500_000, 2_000_000)
DEAR = Prices(3_000_000, 0, 4_000_000)
BUDGET = Budget(per_day=1_000)
USAGE = Usage(
    input_tokens=10, input_tokens_details=InputTokensDetails(cached_tokens=4), output_tokens=5
)


def running(*priced: tuple[str, Prices | None]) -> ModelRegistry:
    """Backends that each list this model at this price."""
    backends = [Listed(name, [model]) for name, (model, _) in zip("abc", priced, strict=False)]
    options = {
        name: BackendOptions(configured=[ModelOptions(model, prices=prices)])
        for name, (model, prices) in zip("abc", priced, strict=False)
    }
    return ModelRegistry(backends, lambda: 0.0, options=options)


@pytest.mark.parametrize(
    ("prices", "cost"),
    [([CHEAP], 18), ([CHEAP, DEAR], 38), ([DEAR, CHEAP], 38), ([None, CHEAP], 18), ([None], 0)],
    ids=[
        "one",
        "the second is dearer",
        "the first is dearer",
        "one without a price",
        "none with a price",
    ],
)
async def test_tokens_cost_the_price_of_the_most_expensive_backend_that_may_have_reported_them(
    prices: list[Prices | None], cost: int
) -> None:
    models = running(*(("m", one) for one in prices))

    assert highest_cost(await models.candidates("m"), USAGE) == cost
    assert highest_cost((), USAGE) == 0


async def test_a_request_is_expected_to_cost_the_highest_prices_without_a_token_from_the_cache() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    """Of all backends that may answer it, and of the models that may be called beside its own."""
    shared = Budget(per_month=2_000)
    key = new_key("acme", limits=KeyLimits(budget=BUDGET), tenant_budget=shared)
    models = running(("m", CHEAP), ("m", DEAR), ("n", Prices(1_000_000, 0, 9_000_000)))
    tariffs = [Tariff(models), Tariff(models, lambda: ("n",))]
    claims = [await tariff.claim(key, "m", Weight(10, 5)) for tariff in tariffs]

    assert claims == [MoneyClaim("acme", key.id, cost, BUDGET, shared) for cost in (50, 75)]


@pytest.mark.parametrize("has_budget", [True, False])
async def test_a_model_without_a_price_at_one_of_its_backends_is_reported_where_a_key_has_a_budget(
    has_budget: bool, caplog: pytest.LogCaptureFixture
) -> None:
    key = SimpleNamespace(
        revoked_at=None, tenant_budget=None, limits=KeyLimits(budget=BUDGET if has_budget else None)
    )
    revoked = SimpleNamespace(revoked_at=1, tenant_budget=BUDGET, limits=KeyLimits(budget=BUDGET))

    async def read(operation: object) -> list[Any]:
        assert operation is api_keys.every
        return [key, revoked]

    store: Any = SimpleNamespace(read=read)
    models = running(("n", CHEAP), ("m", DEAR), ("m", None))
    await models.refresh()
    await warn_of_unpriced(store, models)

    assert ["1 of 2 models, such as 'm'" in message for message in caplog.messages] == [
        True
    ] * has_budget
