"""The unit and the container file in `deploy/` name commands, flags and settings that there are."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from signal import SIGHUP

import typer.main

from antiphon.cli.main import app
from antiphon.config import PREFIX, Settings

ROOT = Path(__file__).parents[3]
UNIT = (ROOT / "deploy/antiphon.service").read_text()
PAGE = (ROOT / "docs/how-to/run-in-production.md").read_text()
CONTAINER = (ROOT / "deploy/Containerfile").read_text()
SERVE = typer.main.get_command(app).get_command(None, "serve")  # type: ignore[attr-defined]


def value_of(name: str) -> str:
    found = re.search(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_unit_starts_a_command_that_there_is() -> None:
    _, command, *arguments = shlex.split(value_of("ExecStart"))
    flags = {option for parameter in SERVE.params for option in parameter.opts}

    assert command == "serve"
    assert {argument for argument in arguments if argument.startswith("--")} <= flags


def test_the_unit_gives_replies_their_time() -> None:
    assert value_of("KillSignal") == "SIGTERM"
    assert int(value_of("TimeoutStopSec")) > Settings().grace + 5


def test_the_store_is_named_where_every_command_finds_it() -> None:
    assert "--store" not in UNIT
    assert "store" in PAGE[: PAGE.index("deploy/antiphon.service")].rpartition("With systemd")[2]


def test_a_reload_is_the_signal_on_which_settings_are_read_again() -> None:
    assert shlex.split(value_of("ExecReload")) == ["/bin/kill", f"-{SIGHUP.name.removeprefix('SIG')}", "$MAINPID"]


def test_the_container_runs_a_command_that_there_is_with_settings_that_there_are() -> None:
    command = re.search(r"^CMD (.*)$", CONTAINER, re.MULTILINE)
    assert command is not None
    assert json.loads(command[1]) == ["antiphon", "serve"]
    variables = re.findall(rf"{PREFIX}(\w+)=", CONTAINER)
    assert variables
    assert {name.lower() for name in variables} <= set(Settings.__struct_fields__)
    assert f"EXPOSE {Settings().port}\n" in CONTAINER
    assert "STOPSIGNAL SIGTERM" in CONTAINER


def test_the_container_builds_from_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    image = re.search(r"^FROM .*/python:3\.(\d+)-slim$", CONTAINER, re.MULTILINE)

    assert image is not None
    assert project["requires-python"] == ">=3.11"
    assert int(image[1]) >= 11
    assert (ROOT / "constraints.txt").exists()
