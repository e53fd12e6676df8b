"""`antiphon worker`: which agents it finds, and what it says if it finds none."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.cli.worker import agents_of, worker
from antiphon.errors import ConfigError

MODULE = """
from antiphon.agents import agent

@agent("one")
async def one(ctx): ...

@agent("two")
async def two(ctx): ...

agents = [two]
nothing = []
other = [one, 5]
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a module with agents into the working folder; return its name."""
    name = f"agents_of_{tmp_path.name}".replace("-", "_").replace("[", "_").replace("]", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import missing_package\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", ["one", "two"]), (":agents", ["two"]), (":one", ["one"])],
)
def test_a_module_a_list_or_one_agent_is_found(module: str, name: str, expected: list[str]) -> None:
    assert [one.name for one in agents_of(module + name)] == expected


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no_such_module", "Cannot import the agents of no_such_module: ModuleNotFoundError"),
        ("broken", "Cannot import the agents of broken: ModuleNotFoundError"),
        ("{module}:none", "has no agents named none"),
        ("{module}:nothing", "There are no agents in"),
        ("{module}:other", "contains int, which is no agent"),
    ],
)
def test_what_has_no_agents_is_refused_with_the_reason(
    module: str, target: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        agents_of(target.format(module=module))


def test_a_store_in_memory_is_refused_because_no_server_reaches_it(module: str) -> None:
    with pytest.raises(ConfigError, match="no server reaches it"):
        worker(module, store="sqlite://")


def test_the_ready_line_has_no_password(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(current: Any, agents: Any, announce: Any) -> None:
        store = SimpleNamespace(url="postgresql://…@db/answers")
        application = SimpleNamespace(parts=SimpleNamespace(store=store))

        async def announced() -> None:
            async with announce(application):
                pass

        asyncio.run(announced())

    monkeypatch.setattr("antiphon.cli.worker.run_agents", run)
    worker(f"{module}:one", store="postgresql://user:s3cr3t@db/answers")

    assert capsys.readouterr().out.endswith(" runs the agents one of postgresql://…@db/answers.\n")
