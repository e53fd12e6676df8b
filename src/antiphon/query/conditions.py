"""What a line of filters means: conditions on the facts of a response."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

WORD = 8
"""How many short texts cost as much as a word, which is searched in the input and in the output."""

Sort = Literal["newest", "slowest", "dearest", "tokens"]


class AnyOf(Struct, frozen=True):
    """A field has one of these texts.

    One that ends with `*` matches every text with this prefix.
    """

    field: str
    values: Sequence[str]


class Between(Struct, frozen=True):
    """A number is known, and not less than `low` or more than `high`: `first` and `took` in
    milliseconds, `tokens` in and out together, `cost` in nano-units.
    """

    field: str
    low: int | None = None
    high: int | None = None


class Flag(Struct, frozen=True):
    """A property is present, or not."""

    field: str
    value: bool


class Tag(Struct, frozen=True):
    """The metadata has this pair."""

    name: str
    value: str


class Word(Struct, frozen=True):
    """The beginning of the input or of the output has this text, which is in lower case."""

    text: str


class Chain(Struct, frozen=True):
    """The response is this one, or precedes it in its chain."""

    response_id: str


class HasItem(Struct, frozen=True):
    """The response produced the item with this id, or made the call with it.

    If no response produced the item, this is one of the first that received it.
    """

    item_id: str


class Not(Struct, frozen=True):
    """The condition does not hold: it is false, or compares a number that is not known."""

    condition: "Condition"


class Either(Struct, frozen=True):
    """At least one of these conditions holds."""

    conditions: Sequence["Condition"]


Leaf = AnyOf | Between | Flag | Tag | Word | Chain | HasItem
Condition = Leaf | Not | Either


class Filters(Struct, frozen=True):
    """The content of a line: all conditions hold, and the response began in this time
    (milliseconds, `until` excluded).

    `sort` is the order in which a list shows what it finds.
    """

    conditions: Sequence[Condition] = ()
    since: int | None = None
    until: int | None = None
    sort: Sort = "newest"
    is_resolved: bool = False
    """Whether the store has replaced names of keys, chains and items by ids (`facts_names`)."""

    @property
    def comparisons(self) -> int:
        """How much it takes to compare one response, in short texts."""
        return sum(map(_comparisons, leaves(self.conditions)))

    @property
    def is_empty(self) -> bool:
        """Whether everything matches."""
        return not self.conditions and self.since is None and self.until is None


def _comparisons(one: "Leaf") -> int:
    match one:
        case Word():
            return WORD
        case AnyOf(field, values):
            return 0 if field == "id" else len(values)  # many ids are looked up at once
        case _:
            return 1


def leaves(conditions: Sequence[Condition]) -> Iterator[Leaf]:
    """Yield the conditions that contain no others."""
    for one in conditions:
        match one:
            case Not(condition):
                yield from leaves([condition])
            case Either(several):
                yield from leaves(several)
            case _:
                yield one
