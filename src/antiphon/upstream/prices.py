"""The cost of a model's tokens. Amounts are nano-units of the operator's currency: integers, so
that sums are exact.
"""

from collections.abc import Iterable
from typing import Self

from msgspec import Struct

NANO = 1_000_000_000
"""Nano-units of one unit of the currency."""

TOKENS = 1_000_000
"""Tokens that a price is for."""


class Prices(Struct, frozen=True):
    """Nano-units for a million tokens of each kind."""

    input: int
    cached_input: int
    """For input tokens from the backend's prefix cache."""
    output: int

    @classmethod
    def highest(cls, prices: Iterable[Self]) -> Self:
        """Return the highest price of each kind, of one or more prices."""
        each = list(prices)
        return cls(*(max(getattr(one, name) for one in each) for name in cls.__struct_fields__))

    def cost(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> int:
        """Return the cost of tokens, rounded up to a nano-unit; `cached_tokens` are some of the
        `input_tokens`.
        """
        cached = min(cached_tokens, input_tokens)
        total = (
            (input_tokens - cached) * self.input
            + cached * self.cached_input
            + output_tokens * self.output
        )
        return -(-total // TOKENS)


def nano(amount: str) -> int:
    """Return an amount such as `12.50` in nano-units.

    Raises `ValueError` for an amount that is not a number, or has more than nine digits after the
    point.
    """
    from decimal import Decimal, InvalidOperation  # noqa: PLC0415 - for servers with prices or budgets alone

    try:
        scaled = Decimal(amount).scaleb(9)
    except InvalidOperation:
        raise ValueError(f"{amount} is not a number") from None
    if not scaled.is_finite():
        raise ValueError(f"{amount} is not a number")
    if scaled != scaled.to_integral_value():
        raise ValueError(f"{amount} has more than nine digits after the point")
    return int(scaled)


def decimal(amount: int) -> str:
    """Return an amount of nano-units as text in units: `12.50`, with more digits only if needed."""
    whole, rest = divmod(abs(amount), NANO)
    digits = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{'-' if amount < 0 else ''}{whole}.{digits}"
