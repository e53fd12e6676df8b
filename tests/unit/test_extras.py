"""The extras, as pyproject.toml lists them."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from antiphon.extras import EXTRAS, FRAMEWORKS, USERS, is_installed, missing, require
from tests.support.extras import without

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RANGES: dict[str, list[str]] = PROJECT["optional-dependencies"]
DEVELOPMENT = {"check", "docs", "release", "resolve", "test"}


def test_every_extra_is_known_and_all_has_each() -> None:
    assert {*RANGES} - DEVELOPMENT - {"all"} == {*EXTRAS, *FRAMEWORKS}
    assert RANGES["all"] == [f"antiphon[{','.join(sorted(EXTRAS))}]"]


INSTALLED = (*EXTRAS, *(one for one in FRAMEWORKS if one != "langgraph"))
"""Those of `make test`; `tests/system/agents/test_langgraph.py` installs the other."""


@pytest.mark.parametrize("extra", INSTALLED)
def test_the_tests_have_every_extra(extra: str) -> None:
    assert is_installed(extra)


@pytest.mark.parametrize("extra", [*EXTRAS, *FRAMEWORKS])
def test_an_extra_that_is_missing_is_named_with_the_command_that_installs_it(extra: str) -> None:
    with (
        without(extra),
        pytest.raises(Exception, match=rf"^X needs .* pip install 'antiphon\[{extra}\]'\.$"),
    ):
        require(extra, "X")


def test_version_1_of_the_mcp_sdk_is_not_enough() -> None:
    with without("mcp"):
        del sys.modules["mcp"]
        assert not is_installed("mcp")
        sys.modules["mcp"] = None  # type: ignore[assignment]


def test_the_mcp_extra_has_every_package_that_its_modules_import() -> None:
    source = ROOT / "src/antiphon"
    imported: set[str] = set()
    for path in [source / "outbound/ssrf.py", *(source / "tools/mcp").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.partition(".")[0])
    others = imported - sys.stdlib_module_names - {"antiphon", "msgspec"}
    assert others <= {
        *EXTRAS["mcp"],
        "anyio",
        "httpcore2",
        "pydantic_core",
    }  # these come with mcp and httpx2


def test_the_log_names_the_command_once(caplog: pytest.LogCaptureFixture) -> None:
    with without("web"):
        errors = [missing("web", "Pages", "tools[0]") for _ in range(2)]
    assert [error and error.body() for error in errors] == 2 * [
        {
            "message": "Pages are not available on this server.",
            "type": "invalid_request_error",
            "param": "tools[0]",
            "code": "unsupported_value",
        }
    ]
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == [
        "pip install 'antiphon[web]'"
    ]


def test_the_lowest_versions_are_those_of_the_ranges() -> None:
    lowest = dict(
        line.split("==")
        for line in (ROOT / "constraints-lowest.txt").read_text().splitlines()
        if "==" in line
    )
    for requirement in [
        *PROJECT["dependencies"],
        *(one for extra in INSTALLED for one in RANGES[extra]),
    ]:
        found = re.match(r"([\w.-]+)>=([\d.]+),<", requirement)
        assert found, requirement
        pin = lowest[found[1].lower().replace(".", "-")]
        assert re.fullmatch(rf"{re.escape(found[2])}(?:\.0)*", pin), requirement


def test_each_extra_has_modules_that_use_it() -> None:
    assert {*USERS} == {*EXTRAS}
