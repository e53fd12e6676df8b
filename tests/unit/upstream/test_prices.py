"""Prices are integers: no cost is ever rounded in favour of who spends, and no sum loses a
nano-unit.
"""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.upstream.prices import NANO, Prices, decimal, nano


def test_each_kind_of_token_has_its_price() -> None:
    prices = Prices(input=2 * NANO, cached_input=NANO // 2, output=10 * NANO)

    assert prices.cost(1_000_000, 0, 0) == 2 * NANO
    assert prices.cost(1_000_000, 400_000, 0) == nano("1.4")
    assert prices.cost(0, 0, 1) == nano("0.00001")


def test_more_cached_tokens_than_there_were_input_tokens_cost_no_less_than_nothing() -> None:
    assert Prices(input=2 * NANO, cached_input=NANO, output=0).cost(10, 1000, 0) == nano("0.00001")


def test_a_part_of_a_nano_unit_is_one() -> None:
    assert Prices(input=1, cached_input=1, output=1).cost(1, 0, 0) == 1


def test_the_highest_price_of_each_kind_is_found() -> None:
    assert Prices.highest([Prices(1, 5, 2), Prices(3, 1, 1)]) == Prices(3, 5, 2)


@pytest.mark.parametrize(
    ("amount", "displayed"),
    [(0, "0.00"), (12_500_000_000, "12.50"), (1, "0.000000001"), (-1_900_000, "-0.0019")],
)
def test_an_amount_is_displayed_in_full(amount: int, displayed: str) -> None:
    assert decimal(amount) == displayed


@given(st.integers(-(10**18), 10**18))
def test_a_displayed_amount_can_be_parsed(amount: int) -> None:
    assert nano(decimal(amount)) == amount


@given(st.floats(0, 1_000_000).map(lambda price: round(price, 6)))
def test_a_price_of_the_settings_is_read_as_it_is_written(price: float) -> None:
    assert nano(repr(price)) == Decimal(repr(price)) * NANO


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e-10", "0.0000000001", "1,5"])
def test_what_is_no_whole_number_of_nano_units_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a number|nine digits"):
        nano(text)
