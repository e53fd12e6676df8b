"""The tests that run with other versions: the recorded table, and what is chosen by it."""

import re

from versions import choice
from versions.pins import bounds
from versions.record import EVERYWHERE
from versions.uv import ROOT


def test_every_test_of_the_table_exists() -> None:
    missing = [one for one in [*choice.tests_of(None), *choice.ALWAYS] if not _exists(one)]

    assert not missing, "run `make test-versions ARGS=--record`"


def test_every_package_with_a_range_has_tests() -> None:
    assert {*choice.table()} == {*bounds()} - EVERYWHERE - {*choice.UNSEEN}, (
        "run `make test-versions ARGS=--record`"
    )


def test_the_sample_is_the_same_every_time_and_has_no_test_of_the_tree() -> None:
    sample = choice.sample()

    assert sample == choice.sample()
    assert 20 < len(sample) < 120
    assert not [file for file in sample if choice.OF_THE_TREE.match(file)]


def test_a_test_of_the_table_runs_with_a_few_cases_and_on_sqlite_alone() -> None:
    test = next(one for one in choice.table()["yarl"] if one not in choice.tests_of(["asyncpg"]))
    cases = [f"{test}[{number}]" for number in range(9)]

    assert choice.chosen([*cases, f"{test}[postgres]"], ["yarl"]) == cases[: choice.CASES]


def test_tests_of_other_packages_are_left_out() -> None:
    others = {*choice.table()["rich"]} - {*choice.table()["asyncpg"]}

    assert others
    assert not choice.chosen(sorted(others), ["asyncpg"])


def test_the_representative_set_has_what_always_runs_and_no_more_than_its_most() -> None:
    file = choice.sample()[0]
    many = [f"tests/system/clients/test_openai_sdk.py::test_{number}" for number in range(2_000)]

    assert choice.chosen([choice.ALWAYS[-1], "tests/unit/test_x.py::test_other"], None) == [
        choice.ALWAYS[-1]
    ]
    assert (
        len(choice.chosen([f"{file}::test_{number}" for number in range(99)], None))
        == choice.ITEMS_OF_A_FILE
    )
    assert len(choice.chosen(many, None)) == choice.MOST_ITEMS


def _exists(test: str) -> bool:
    file, _, function = test.partition("::")
    path = ROOT / file
    name = re.escape(function.rpartition("::")[2].partition("[")[0])
    return path.exists() and bool(
        re.search(rf"\bdef {name}\(", path.read_text()) if function else True
    )
