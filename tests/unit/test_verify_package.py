"""The package antiphon-verify: what it declares, next to the server that it does not need."""

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "verify"
SERVER: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERIFY: dict[str, Any] = tomllib.loads((FOLDER / "pyproject.toml").read_text())
DEPENDENCIES: list[str] = VERIFY["project"]["dependencies"]


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0]


def test_its_version_is_that_of_the_server() -> None:
    path = FOLDER / VERIFY["tool"]["hatch"]["version"]["path"]
    assert path.resolve() == ROOT / SERVER["tool"]["hatch"]["version"]["path"]


def test_no_requirement_of_the_server_names_it_because_a_stranger_could_own_the_name() -> None:
    listed = [*SERVER["project"]["dependencies"]]
    listed += [
        one for extra in SERVER["project"]["optional-dependencies"].values() for one in extra
    ]
    assert [one for one in listed if name_of(one) == VERIFY["project"]["name"]] == []


def test_it_requires_every_package_that_it_imports_and_nothing_else() -> None:
    imported: set[str] = set()
    for path in (FOLDER / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    assert imported - sys.stdlib_module_names - {"antiphon_verify"} == {
        name_of(one) for one in DEPENDENCIES
    }


@pytest.mark.parametrize("requirement", DEPENDENCIES, ids=name_of)
def test_a_server_with_all_extras_has_what_it_requires(requirement: str) -> None:
    extras: dict[str, list[str]] = SERVER["project"]["optional-dependencies"]
    (every,) = extras["all"]
    users = [
        one for extra in every.partition("[")[2].rstrip("]").split(",") for one in extras[extra]
    ]
    assert requirement in {*SERVER["project"]["dependencies"], *users}


def test_both_packages_support_the_same_pythons_under_the_same_licence() -> None:
    for field in ("requires-python", "license", "authors"):
        assert VERIFY["project"][field] == SERVER["project"][field]
    pythons = [
        {line for line in project["project"]["classifiers"] if "Programming Language" in line}
        for project in (SERVER, VERIFY)
    ]
    assert pythons[0] == pythons[1]
    assert VERIFY["build-system"] == SERVER["build-system"]
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
