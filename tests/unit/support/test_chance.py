"""Which seed a run has, how often it tries something, and which third of many cases it runs."""

from itertools import product
from pathlib import Path

import pytest

from tests.support.chance import MOST, seed_of_run, third


def test_a_chosen_seed_is_the_seed_of_the_run_and_of_its_processes(tmp_path: Path) -> None:
    environment = {"ANTIPHON_SEED": "7"}

    assert seed_of_run(environment, "test", tmp_path) == 7
    assert "ANTIPHON_SEED" not in environment, (
        "a server in the tests would report an unknown setting"
    )
    assert seed_of_run(environment, "test", tmp_path) == 7


def test_a_chosen_seed_repeats_a_run_at_night(tmp_path: Path) -> None:
    assert seed_of_run({"ANTIPHON_SEED": "7"}, "nightly", tmp_path) == 7


def test_nights_have_other_seeds_and_the_processes_of_one_night_the_same(tmp_path: Path) -> None:
    nights: list[dict[str, str]] = [{} for _ in range(5)]
    seeds = [seed_of_run(environment, "nightly", tmp_path) for environment in nights]

    assert len(set(seeds)) > 1
    assert all(1 <= seed <= MOST for seed in seeds)
    assert [seed_of_run(environment, "nightly", tmp_path) for environment in nights] == seeds


CASES = list(product("abc", "de", "fgh", range(7)))


@pytest.mark.parametrize("seed", [1, 2, 3, 999_999])
def test_three_seeds_in_a_row_choose_every_case_once(seed: int) -> None:
    chosen = [third(CASES, each) for each in range(seed, seed + 3)]

    assert sorted(case for part in chosen for case in part) == sorted(CASES)
    assert {len(part) for part in chosen} == {len(CASES) // 3}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_third_has_every_value_of_every_factor_in_the_order_of_the_cases(seed: int) -> None:
    part = third(CASES, seed)

    assert part == sorted(part)
    for factor in range(4):
        assert {case[factor] for case in part} == {case[factor] for case in CASES}
