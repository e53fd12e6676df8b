"""Matches facts with filters like the store does, for responses that arrive while a list is
open.
"""

from collections.abc import Mapping
from operator import eq, ge, gt, le, lt

from msgspec.structs import replace

from antiphon.query.response_filters import AnyOf, Chain, Compare, Condition, Filters, Flag, Tag
from antiphon.storage.records.facts import FLAGS, TEXT_FIELDS, Facts, pair_of

OPERATORS = {">": gt, ">=": ge, "<": lt, "<=": le, "=": eq}


def matches(facts: Facts, filters: Filters) -> bool:
    """Return whether the facts match all filters.

    A chain filter never matches: the chain is not known here.
    """
    if filters.since is not None and facts.began < filters.since:
        return False
    if filters.until is not None and facts.began >= filters.until:
        return False
    text = f"{facts.input} {facts.output}".lower() if filters.words else ""
    return all(word in text for word in filters.words) and all(
        _holds(facts, one) for one in filters.conditions
    )


def with_key_ids(filters: Filters, names: Mapping[str, str]) -> Filters:
    """Return filters with names of API keys replaced by ids. `names` has the names by id."""

    def known(condition: Condition) -> Condition:
        if not isinstance(condition, AnyOf) or condition.field != "key":
            return condition
        ids = [key_id for key_id, name in names.items() if name in condition.values]
        return AnyOf("key", (*ids, *condition.values))

    return replace(filters, conditions=tuple([known(one) for one in filters.conditions]))


def _holds(facts: Facts, condition: Condition) -> bool:
    match condition:
        case AnyOf("tool", values):
            return not set(values).isdisjoint(facts.tools.split())
        case AnyOf(field, values):
            text: str = getattr(facts, TEXT_FIELDS[field])
            return (text != "" or field != "key") and any(_is(text, value) for value in values)
        case Compare(field, operator, value):
            number = _number(facts, field)
            return number is not None and OPERATORS[operator](number, value)
        case Flag(field, value):
            return bool(facts.flags & FLAGS[field]) is value
        case Tag(name, value):
            return pair_of(name, value) in facts.tags
        case Chain():
            return False


def _is(text: str, value: str) -> bool:
    return text.startswith(value[:-1]) if value.endswith("*") else text == value


def _number(facts: Facts, field: str) -> int | None:
    if field == "took":
        return None if facts.ended is None else facts.ended - facts.began
    return facts.first if field == "first" else facts.input_tokens + facts.output_tokens
