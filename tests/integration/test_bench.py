"""The bench runs: its stand-ins still have what is looked at. How fast anything is says `make
bench` alone.
"""

import math
from pathlib import Path

import pytest
from bench import containers, figures, machines, retrieval, search
from bench.agents import measure as agents
from bench.agents.scenarios import SCENARIOS
from bench.attacks import disk, memory
from bench.attacks.attackers import Attacker
from bench.attacks.table import ATTACKS
from bench.report import NGINX, OURS, TARGET, medians
from bench.server import antiphon, module
from bench.targets import ATTACKS as ATTACK_TARGETS
from bench.targets import FRACTIONS, TARGETS, of_attacks, targets, verdicts

from tests.support.code import skip_without_machines
from tests.support.sandboxes import why_not

SMALL = {
    "check of a key, µs",
    "check where nobody needs a key, µs",
    "counting a response for /metrics, µs",
    "fair sharing of running responses, µs",
}
"""Small differences of two measured times, which may even be below zero while the machine has other
work.
"""


@pytest.mark.wide
def test_what_is_measured_in_this_process_can_be() -> None:
    measured = {name: value for name, owner, value in figures.translation() if owner == OURS}
    assert set(measured) > SMALL and all(math.isfinite(value) for value in measured.values())
    assert all(value > 0 for name, value in measured.items() if name not in SMALL)


@pytest.mark.wide
def test_a_search_of_few_chunks_can_be_measured() -> None:
    figures = {name: value for name, _, value in search.reading("sqlite://", 500)}
    assert len(figures) == 3 and all(value > 0 for value in figures.values())


def test_calls_of_code_in_few_containers_can_be_measured() -> None:
    skip_without_machines()
    figures = {
        name: value
        for name, _, value in containers.reading("sqlite://", containers=3, calls=3, warm=3)
    }
    assert len(figures) == 4 and all(value > 0 for value in figures.values())
    assert figures["9 calls of code in 3 containers: right answers"] == 9


def test_machines_can_be_measured() -> None:
    if problem := why_not():
        pytest.skip(problem)
    readings = {name: value for name, _, value in machines.reading(2, 3)}
    assert len(readings) == 4 and all(value > 0 for value in readings.values())
    assert set(readings) <= set(TARGETS)


@pytest.mark.wide
def test_what_an_agent_sends_can_be_measured(tmp_path: Path) -> None:
    with (
        module("bench.backend") as backend,
        antiphon(backend.port, tmp_path, "sqlite://") as server,
    ):
        for name in ("codex, later turn", "chained"):
            taken = agents.of_scenario(server, SCENARIOS[name](), 0, stream=True, store=True)
            assert taken.first > 0
            assert taken.cpu > 0
        direct = agents.of_chat(backend, 100_000, 0, stream=True)
        assert direct.first > 0
        assert direct.cpu > 0


@pytest.mark.wide
async def test_nearly_every_query_finds_its_passage_first_in_both_databases(store_url: str) -> None:
    ranks = await retrieval.ranks(store_url)
    assert ranks["keywords"] > 0.95
    assert ranks["vectors of spelling"] > 0.95
    assert ranks["both"] > 0.95


def met(*readings: tuple[str, str, float]) -> dict[str, bool]:
    """Which targets are met by these readings."""
    return {target.name: target.is_met for target in targets(medians(readings))}


def test_a_figure_is_judged_by_its_median() -> None:
    name = "start to first answer, s"
    assert met((name, OURS, 0.4), (name, OURS, 9.0), (name, OURS, 0.5))[name]
    assert not met((name, OURS, 0.51))[name]


def test_a_fraction_is_of_what_nginx_did_in_the_same_run() -> None:
    name = "plain requests, 1/s"
    judged = f"{name}, as a fraction of nginx"
    assert met((name, OURS, 100), (name, NGINX, 1000))[judged]
    assert not met((name, OURS, 99), (name, NGINX, 1000))[judged]


def test_a_target_may_follow_from_another_figure() -> None:
    assert met(("x", OURS, 1), ("x", TARGET, 2))["x"]
    assert not met(("x", OURS, 3), ("x", TARGET, 2))["x"]


def test_an_attack_that_was_not_measured_has_no_verdict() -> None:
    (judged,) = of_attacks(medians([(disk.FIGURE, OURS, 1)]))
    assert (judged.name, judged.value, judged.is_met) == (disk.FIGURE, 0, False)


def test_every_attack_is_measured_or_names_its_test() -> None:
    for attack in ATTACKS:
        assert attack.measure or attack.test or hasattr(Attacker, attack.method), attack.name
        later = [
            f"{figure} of B later, {attack.name}, ms" in ATTACK_TARGETS
            for figure in ("median", "worst")
        ]
        assert later == [attack.has_times] * 2


def test_memory_that_code_takes_can_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_machines()
    name = "shared memory"
    monkeypatch.setattr(memory, "KINDS", {name: memory.KINDS[name]})
    monkeypatch.setattr(memory, "PROCESSES", 2)
    ((figure, _, value),) = memory.reading(tmp_path)
    assert figure in ATTACK_TARGETS
    assert -memory.LIMITS.memory - memory.LIMITS.disk < value * 1e6 < 64e6


def test_what_was_not_measured_is_not_met() -> None:
    judged = targets({})
    assert len(judged) == len(TARGETS) + len(FRACTIONS)
    assert not any(target.is_met for target in judged)
    assert verdicts(judged).endswith(f"0 of {len(judged)} targets are met, {len(judged)} are not.")
