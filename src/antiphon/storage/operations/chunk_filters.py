"""Attribute filters as an SQL condition on `indexed_files`. `search/filters.py` is the reference
implementation.
"""

from typing import Any

from antiphon.search.filters import AttributeValue, Comparison, Filter, kind_of

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class Conditions:
    """Builds a condition. Its parameters are numbered from `start` + 1."""

    def __init__(self, start: int) -> None:
        self._start = start
        self.values: list[Any] = []

    def where(self, wanted: Filter | None) -> str:
        """Return the text to append to other conditions, empty without a filter."""
        return "" if wanted is None else f"AND {self._condition(wanted)}"

    def _condition(self, wanted: Filter) -> str:
        if isinstance(wanted, Comparison):
            return self._comparison(wanted)
        if not wanted.filters:
            return "1 = 1" if wanted.operator == "and" else "1 = 0"
        parts = [self._condition(one) for one in wanted.filters]
        return f"({f' {wanted.operator.upper()} '.join(parts)})"

    def _comparison(self, wanted: Comparison) -> str:
        values = wanted.value if isinstance(wanted.value, tuple) else (wanted.value,)
        if wanted.operator in _SIGNS:
            if kind_of(values[0]) == "flag":
                return "1 = 0"
            return self._exists(wanted.key, [self._compared(values[0], _SIGNS[wanted.operator])])
        found = (
            self._exists(wanted.key, [self._compared(one, "=") for one in values])
            if values
            else "1 = 0"
        )
        return found if wanted.operator in ("eq", "in") else f"NOT ({found})"

    def _exists(self, key: str, conditions: list[str]) -> str:
        # All SQL text is fixed; keys and values are parameters.
        return (
            "EXISTS (SELECT 1 FROM file_attributes WHERE file_attributes.store = "  # noqa: S608 - fixed texts; all values are parameters
            "indexed_files.store"
            f" AND file_attributes.file_id = indexed_files.file_id AND key = {self._add(key)}"
            f" AND ({' OR '.join(conditions)}))"
        )

    def _compared(self, value: AttributeValue, sign: str) -> str:
        kind = kind_of(value)
        return f"file_attributes.{kind} {sign} {self._add(column_value(value))}"

    def _add(self, value: Any) -> str:
        self.values.append(value)
        return f"${self._start + len(self.values)}"


def column_value(value: AttributeValue) -> str | float | int:
    """Return a value as its column stores it: a boolean as 0 or 1, a number as a double."""
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, str) else float(value)
