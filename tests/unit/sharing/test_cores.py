"""The cores that a process may use, in a directory that looks like those of control groups."""

import math
import os
from pathlib import Path

import pytest

from antiphon.sharing import cores
from antiphon.sharing.cores import quota, usable_cores, whole_cores


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The group `unit.service`, below that of the host."""
    (tmp_path / "unit.service").mkdir()
    (tmp_path / "own").write_text("12:memory:/old\n0::/unit.service\n")
    return tmp_path


@pytest.mark.parametrize(
    ("of_group", "of_parent", "allowed"),
    [
        ("200000 100000", "max 100000", 2),
        ("max 100000", "50000 100000", 0.5),
        ("max 100000", "", math.inf),
        ("?", "", math.inf),
    ],
)
def test_a_quota_is_the_least_of_the_group_and_those_above_it(
    tree: Path, of_group: str, of_parent: str, allowed: float
) -> None:
    (tree / "unit.service" / "cpu.max").write_text(of_group)
    if of_parent:
        (tree / "cpu.max").write_text(of_parent)
    assert quota(tree, tree / "own") == allowed


def test_without_groups_no_cores_are_withheld(tree: Path) -> None:
    assert quota(tree, tree / "absent") == math.inf


@pytest.mark.parametrize(
    ("affinity", "allowed", "usable", "whole"),
    [(8, math.inf, 8, 8), (8, 0.5, 0.5, 1), (2, 3.5, 2, 2)],
)
def test_a_process_uses_its_affinity_or_less_by_its_quota(
    monkeypatch: pytest.MonkeyPatch, affinity: int, allowed: float, usable: float, whole: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(affinity)), raising=False)
    monkeypatch.setattr(cores, "quota", lambda: allowed)
    usable_cores.cache_clear()
    try:
        assert (usable_cores(), whole_cores()) == (usable, whole)
    finally:
        usable_cores.cache_clear()


def test_a_system_without_affinities_counts_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(cores, "quota", lambda: math.inf)
    usable_cores.cache_clear()
    try:
        assert usable_cores() == os.cpu_count()
    finally:
        usable_cores.cache_clear()
