"""What `make mutate` changes, and what it leaves alone."""

import pytest
from mutation.mutants import mutants


def changed(text: str, path: str = "a.py") -> list[str]:
    return [mutant.apply(text) for mutant in mutants(path, text)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a < b", "x = a <= b"),
        ("x = a >= b", "x = a > b"),
        ("x = (a) == (b)", "x = (a) != (b)"),
        ("x = a is not None", "x = a is None"),
        ("x = a not in b", "x = a in b"),
        ("x = a and b", "x = a or b"),
        ("x = not a", "x = a"),
        ("x = a + b", "x = a - b"),
        ("x = f(is_on=True)", "x = f(is_on=False)"),
        ("x = f(1)", "x = f(2)"),
        ("x = LIMIT * a", "x = LIMIT // a"),
        ("x = now - 1", "x = now + 1"),
        ("x = min(a)", "x = max(a)"),
        ("f(a)", "pass"),
        ("x += a", "pass"),
        ("if a:\n    b()", "if not (a):\n    b()"),
        (
            "if a:\n    log.info('b')\nelse:\n    c()",
            "if not (a):\n    log.info('b')\nelse:\n    c()",
        ),
        ("def f():\n    return a", "def f():\n    return None"),
        ("def f():\n    raise E", "def f():\n    pass"),
        ("def f():\n    return reportable(e)", "def f():\n    return None"),
        ("x = 'ä' + a if a < b else c", "x = 'ä' + a if a <= b else c"),
    ],
)
def test_code_is_changed(before: str, after: str) -> None:
    assert after in changed(before)


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""',
        "LIMIT = 1 + 1",
        "_TRIES: int = 2",
        "log.warning('%s', a + b)",
        "x: Literal[True]",
        "x = f'{a + b}'",
        "def f(a: 'int | None') -> Literal[1]: ...",
        "x = 'a' + b",
        "if TYPE_CHECKING:\n    f()",
        "x = a < LIMIT",
        "x = time.monotonic() > until",
        "x = until <= now",
        "x = a >= LIMIT + 2",
        "x = f(2 * LIMIT)",
        "x = zip(a, b, strict=True)",
        "if a and b:\n    log.warning('c')",
        "if a and b:\n    log.warning('c')\nelif d:\n    log.info('e')\nelse:\n    log.info('f')",
        "await asyncio.sleep(a * 2)",
        "raise AssertionError",
        "raise AssertionError('never reached')",
        "reportable(error)",
    ],
)
def test_what_is_no_behaviour_is_left_alone(text: str) -> None:
    assert changed(text) == []


@pytest.mark.parametrize("test", ["a == b", "a is not None", "not a"])
def test_a_condition_is_negated_once(test: str) -> None:
    assert len(changed(f"if {test}:\n    x = y")) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT a FROM b WHERE tenant = $1", "SELECT a FROM b WHERE (tenant = $1 OR 1 = 1)"),
        (
            "SELECT a FROM b WHERE at = CAST($1 AS BIGINT)",
            "SELECT a FROM b WHERE (at = CAST($1 AS BIGINT) OR 1 = 1)",
        ),
        ("SELECT a FROM b WHERE at <= $1", "SELECT a FROM b WHERE at < $1"),
        ("SELECT a FROM b WHERE c IS NULL", "SELECT a FROM b WHERE c IS NOT NULL"),
        ("SELECT a FROM b WHERE c = 1 AND d = 2", "SELECT a FROM b WHERE c = 1 OR d = 2"),
        ("SELECT a FROM b ORDER BY c DESC", "SELECT a FROM b ORDER BY c"),
    ],
)
def test_statements_are_changed(before: str, after: str) -> None:
    assert after in changed(before, "a.sql")


def test_a_comment_in_a_statement_is_left_alone() -> None:
    assert changed("-- where a = b AND c\nSELECT a FROM b", "a.sql") == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CASE WHEN a > b THEN a ELSE b END FROM c",
        "SELECT CASE WHEN a < CAST($3 AS BIGINT) AND d THEN CAST($3 AS BIGINT) ELSE a END FROM c",
    ],
)
def test_which_of_two_equal_values_is_chosen_makes_no_difference(text: str) -> None:
    found = changed(text, "a.sql")

    assert not [one for one in found if "<=" in one or ">=" in one]
    assert [one for one in found if "OR 1 = 1" in one]


def test_a_diff_shows_the_changed_line() -> None:
    (mutant,) = mutants("a.py", "x = a < b\ny = c")

    assert mutant.diff("x = a < b\ny = c").splitlines()[-3:] == [
        "-x = a < b",
        "+x = a <= b",
        " y = c",
    ]
