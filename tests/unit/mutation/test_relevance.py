"""Which tests judge a mutant."""

import pytest
from mutation.mutants import mutants
from mutation.relevance import Relevance, statement_at
from mutation.tracing import IMPORTED, PassedTest, Trace

CODE = """\
limit = 3


def few(number: int) -> bool:
    return (
        number < limit
    )


def many(number: int) -> bool:
    return number > limit


def put() -> None:
    ask(limit > 1)


def take() -> None:
    perform(Query("take_key", ()))
"""

STATEMENTS = """\
-- put_key --
UPDATE keys SET a = 1 WHERE id = $1

-- take_key --
UPDATE keys SET a = 2 WHERE owner = $1
"""

TEXTS = {"a.py": CODE, "a.sql": STATEMENTS}

TESTS = [
    PassedTest("tests/unit/test_a.py::test_few", 2.0),
    PassedTest("tests/integration/test_a.py::test_few[postgres]", 0.5),
    PassedTest("tests/integration/test_a.py::test_few[sqlite]", 1.0),
    PassedTest("tests/integration/test_b.py::test_put", 1.0),
    PassedTest("tests/integration/test_b.py::test_take", 3.0),
]
FEW, FEW_ON_POSTGRES, FEW_ON_SQLITE, PUT, TAKE = (test.id for test in TESTS)

LINES = {1: [IMPORTED], 5: [0, 1, 2], 6: [0, 1, 2], 11: [IMPORTED], 15: [3], 19: [4]}


@pytest.fixture
def relevance() -> Relevance:
    return Relevance(TEXTS, [Trace(TESTS, {"a.py": LINES}, {"put_key": [3]}, [])])


def judges(relevance: Relevance, path: str, changed: str, folder: str = "tests") -> list[str]:
    text = CODE if path == "a.py" else STATEMENTS
    mutant = next(one for one in mutants(path, text) if changed in one.apply(text))
    return [test.id for test in relevance.of(mutant, [folder])]


def test_those_that_run_the_statement_do_the_quick_ones_first_and_those_on_postgres_last(
    relevance: Relevance,
) -> None:
    assert judges(relevance, "a.py", "number <= limit") == [FEW_ON_SQLITE, FEW, FEW_ON_POSTGRES]


def test_those_of_other_areas_do_not(relevance: Relevance) -> None:
    assert judges(relevance, "a.py", "number <= limit", "tests/unit") == [FEW]


def test_of_what_runs_at_import_all_tests_of_the_file_do(relevance: Relevance) -> None:
    assert judges(relevance, "a.py", "number >= limit") == [
        FEW_ON_SQLITE,
        PUT,
        FEW,
        TAKE,
        FEW_ON_POSTGRES,
    ]


def test_of_what_tests_share_all_tests_of_the_file_in_the_area_do() -> None:
    """Where a fixture of all tests runs it, the first test of an area has found it done."""
    shared = Relevance(TEXTS, [Trace(TESTS, {"a.py": {**LINES, 11: [IMPORTED, 3]}}, {}, [])])

    assert judges(shared, "a.py", "number >= limit") == [PUT]
    assert judges(shared, "a.py", "number >= limit", "tests/unit") == [FEW]


def test_of_sql_those_that_use_the_statement_do(relevance: Relevance) -> None:
    assert judges(relevance, "a.sql", "id <> $1") == [PUT]


def test_of_sql_those_that_run_a_line_which_names_the_statement_do(relevance: Relevance) -> None:
    assert judges(relevance, "a.sql", "owner <> $1") == [TAKE]


@pytest.mark.parametrize(("line", "lines"), [(1, [1]), (4, [4]), (6, [5, 6, 7]), (11, [11])])
def test_a_statement_has_its_own_lines_and_not_those_of_its_body(
    line: int, lines: list[int]
) -> None:
    assert list(statement_at(CODE, line)) == lines


def test_numbers_of_tests_of_several_traces_differ() -> None:
    both = [
        Trace(TESTS[:1], {"a.py": {5: [0]}}, {}, []),
        Trace(TESTS[2:3], {"a.py": {5: [0]}}, {}, []),
    ]

    assert judges(Relevance(TEXTS, both), "a.py", "number <= limit") == [FEW_ON_SQLITE, FEW]
