"""What a command loads, and how it ends while it does."""

import subprocess
import sys

import pytest

import antiphon

INTERRUPTED = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

_, module, *arguments = sys.argv
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, CtrlC())
sys.argv = ["antiphon", *arguments]
from antiphon.cli import run
run()
"""
"""Runs the command, with `Ctrl-C` as soon as it wants to load a module."""


@pytest.mark.parametrize(
    "module", ["typer", "rich.console", "antiphon.cli.main", "antiphon.cli.serve", "antiphon.application", "aiohttp"]
)
def test_it_ends_quietly_where_it_is_interrupted_while_it_loads(module: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, "serve", "--port", "0", "--store", "sqlite://"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


LOADED = """
import sys
from antiphon.cli.main import COMMANDS, app
import typer.main
if sys.argv[1] in COMMANDS:
    typer.main.get_command(app).get_command(None, sys.argv[1])
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        ("none", {"aiohttp", "asyncio", "msgspec", "starlette", "antiphon.application", "antiphon.client", "sqlite3"}),
        ("keys", {"aiohttp", "starlette", "uvicorn", "asyncpg", "antiphon.application", "antiphon.client"}),
        ("status", {"aiohttp", "starlette", "uvicorn", "antiphon.application", "antiphon.client"}),
        ("serve", {"antiphon.conformance", "asyncpg", "mcp", "opentelemetry"}),
    ],
)
def test_a_command_loads_what_it_needs(command: str, needless: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, command], capture_output=True, text=True, check=True)
    assert needless & set(done.stdout.split()) == set()


@pytest.mark.parametrize("name", antiphon.__all__)
def test_a_name_of_the_package_is_loaded_when_it_is_asked_for(name: str) -> None:
    assert getattr(antiphon, name) is not None


def test_a_name_that_the_package_does_not_have_is_missing() -> None:
    assert not hasattr(antiphon, "Nothing")
