"""Parameters in SQLite's style: plain, and with the values in their order."""

import pytest

from antiphon.storage.sqlite.marks import bound


@pytest.mark.parametrize(
    ("text", "plain", "values"),
    [
        ("SELECT 1", "SELECT 1", ()),
        ("a = $1 AND b = $2", "a = ? AND b = ?", ("one", "two")),
        ("b = $2 AND a = $1", "b = ? AND a = ?", ("two", "one")),
        ("a = $1 OR $1 IS NULL", "a = ? OR ? IS NULL", ("one", "one")),
        ("$2 $1 $2", "? ? ?", ("two", "one", "two")),
        ("$1 $2 $3 $4 $5 $6 $7 $8 $9 $10", "? ? ? ? ? ? ? ? ? ?", tuple(range(10))),
    ],
)
def test_numbers_become_plain_and_the_values_follow_them(
    text: str, plain: str, values: tuple[object, ...]
) -> None:
    provided = range(10) if len(values) == 10 else ("one", "two")[: len({*values})]
    assert bound(text, tuple(provided)) == (plain, values)
