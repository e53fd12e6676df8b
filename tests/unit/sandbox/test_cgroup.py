"""Control groups, in a directory that looks like theirs."""

import os
from pathlib import Path

import pytest

from antiphon.sandbox.cgroup import SUPERVISOR, Cgroup, delegated
from antiphon.sandbox.contract import MachineLimits

LIMITS = MachineLimits(memory=1000, disk=24, processes=5)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The group `unit.service` with the process 7, which systemd delegated."""
    group = tmp_path / "unit.service"
    group.mkdir()
    (group / "cgroup.procs").write_text("7\n")
    (tmp_path / "own").write_text("12:memory:/old\n0::/unit.service\n")
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"1", raising=False)
    return tmp_path


def test_the_server_moves_aside_in_its_own_group(tree: Path) -> None:
    group = delegated(tree, tree / "own")
    assert group == tree / "unit.service"
    assert (group / SUPERVISOR / "cgroup.procs").read_text() == "7"
    assert (group / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    (tree / "own").write_text(f"0::/unit.service/{SUPERVISOR}\n")  # as the next worker sees it
    assert delegated(tree, tree / "own") == group


def test_a_foreign_process_group_is_left_alone(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"0", raising=False)
    assert delegated(tree, tree / "own") is None
    assert not (tree / "unit.service" / SUPERVISOR).exists()


@pytest.mark.parametrize("own", ["", "1:name=systemd:/x\n", "0::/missing\n"])
def test_there_may_be_no_group(tree: Path, own: str) -> None:
    (tree / "own").write_text(own)
    assert delegated(tree, tree / "own") is None
    assert delegated(tree, tree / "absent") is None


def test_a_machine_has_a_group_with_its_limits(tree: Path) -> None:
    group = Cgroup(tree, LIMITS)
    (path,) = tree.glob("machine-*")
    assert (path / "memory.max").read_text() == "1024"
    assert (path / "pids.max").read_text() == "9"
    assert group.entry()[:2] == ("/bin/sh", "-c")
    assert group.entry()[-1] == str(path / "cgroup.procs")
    (path / "memory.current").write_text("500\n")
    assert group.memory() == 500
    assert not group.has_killed()
    (path / "memory.events").write_text("low 0\noom_kill 1\noom_group_kill 0\n")
    assert group.has_killed()
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    group.remove()


def test_the_kernel_counts_the_cpu_time_of_a_group(tree: Path) -> None:
    group = Cgroup(tree, LIMITS)
    (path,) = tree.glob("machine-*")
    (path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n")
    assert group.cpu() == 2.5
