"""The seed that follows from the files of a repository."""

import subprocess
from pathlib import Path

import pytest

from tests.support.chance import FIXED, seed_of_tree


def git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    subprocess.run(("git", *names, *arguments), cwd=root, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "code.py").write_text("a = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "One")
    return tmp_path


def test_the_same_tree_has_the_same_seed_in_every_commit(tree: Path) -> None:
    seed = seed_of_tree(tree)
    git(tree, "commit", "--allow-empty", "-m", "Two")

    assert seed_of_tree(tree) == seed != FIXED


def test_a_change_has_another_seed_before_and_after_its_commit(tree: Path) -> None:
    seeds = {seed_of_tree(tree)}
    (tree / "code.py").write_text("a = 2\n")
    seeds.add(seed_of_tree(tree))
    git(tree, "commit", "-am", "Two")
    seeds.add(seed_of_tree(tree))

    assert len(seeds) == 3


def test_a_folder_in_the_repository_of_others_has_the_fixed_seed(tree: Path) -> None:
    (tree / "copy").mkdir()

    assert seed_of_tree(tree / "copy") == FIXED


def test_a_tree_unknown_to_git_has_the_fixed_seed(tmp_path: Path) -> None:
    assert seed_of_tree(tmp_path) == seed_of_tree(tmp_path / "nothing") == FIXED
