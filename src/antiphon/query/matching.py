"""Matches facts with filters like the store does, for responses that arrive while a list is
open.
"""

from antiphon.query.conditions import (
    AnyOf,
    Between,
    Chain,
    Condition,
    Either,
    Filters,
    Flag,
    HasItem,
    Not,
    Tag,
    Word,
)
from antiphon.storage.records.facts import FLAGS, TEXT_FIELDS, Facts, pair_of, tool_of


def matches(facts: Facts, filters: Filters) -> bool:
    """Return whether the facts match all filters, which the store has resolved (`facts_names`)."""
    if filters.since is not None and facts.began < filters.since:
        return False
    if filters.until is not None and facts.began >= filters.until:
        return False
    return all(_holds(facts, one) for one in filters.conditions)


def _holds(facts: Facts, condition: Condition) -> bool:
    match condition:
        case AnyOf("tool", values):
            return any(_has_tool(facts.tools, one) for one in values)
        case AnyOf(field, values):
            text: str = getattr(facts, TEXT_FIELDS[field])
            if field == "key" and text == "":
                return "" in values
            return any(_is(text, value) for value in values)
        case Between(field, low, high):
            number = _number(facts, field)
            return (
                number is not None
                and (low is None or number >= low)
                and (high is None or number <= high)
            )
        case Flag(field, value):
            return bool(facts.flags & FLAGS[field]) is value
        case Tag(name, value):
            return pair_of(name, value) in facts.tags
        case Word(text):
            return text in f"{facts.input} {facts.output}".lower()
        case Not(negated):
            return not _holds(facts, negated)
        case Either(conditions):
            return any(_holds(facts, one) for one in conditions)
        case Chain() | HasItem():
            raise AssertionError("only the store knows the responses of a chain or of an item")


def _has_tool(tools: str, name: str) -> bool:
    return tool_of(name) in tools if name else not tools


def _is(text: str, value: str) -> bool:
    return text.startswith(value[:-1]) if value.endswith("*") else text == value


def _number(facts: Facts, field: str) -> int | None:
    match field:
        case "took":
            return None if facts.ended is None else facts.ended - facts.began
        case "tokens":
            return facts.input_tokens + facts.output_tokens
        case _:
            number: int | None = getattr(facts, field)
            return number
