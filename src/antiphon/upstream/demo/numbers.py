"""Numbers between the bounds of a JSON Schema."""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from antiphon.upstream.demo.fits import Schema, exact, is_number


def numbers(schema: Schema, *, whole: bool, vary: int) -> Iterator[float]:
    """Give candidates, small positive ones first; another `vary` gives others. Not each need fit."""
    least, most = _bound(schema, "minimum", max), _bound(schema, "maximum", min)
    step = _step(schema, whole)
    starts = [max(1, math.ceil((least or 0) / step))]
    if least is not None:
        starts.append(math.ceil(least / step))
    yield from (_plain((start + vary + further) * step) for start in starts for further in (0, 1))
    if most is not None:
        yield from (_plain((math.floor(most / step) - vary - further) * step) for further in (0, 1))
    if least is not None and most is not None:
        yield _plain(least + (most - least) * Fraction(vary + 1, vary + 2))
    yield starts[0] + vary + 0.5


def _bound(schema: Schema, name: str, choose: Callable[[Iterable[Fraction]], Fraction]) -> Fraction | None:
    values = [schema.get(name), schema.get(f"exclusive{name.capitalize()}")]
    numbers = [exact(value) for value in values if is_number(value)]
    return choose(numbers) if numbers else None


def _step(schema: Schema, whole: bool) -> Fraction:
    value = schema.get("multipleOf")
    step = exact(value) if is_number(value) and value > 0 else Fraction(1)
    return Fraction(step.numerator) if whole else step


def _plain(number: Fraction) -> float:
    return number.numerator if number.denominator == 1 else float(number)
