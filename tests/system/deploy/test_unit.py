"""`deploy/antiphon.service`: commands, flags and settings that exist, and a sandbox in which the
server runs.
"""

import asyncio
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from signal import SIGHUP

import aiohttp
import typer.main

from antiphon.cli.main import app
from antiphon.config import Settings
from tests.support.command import pids_below, serving
from tests.support.programs import find, needs
from tests.support.replay import ReplayBackend
from tests.support.workers import until_both_report

ROOT = Path(__file__).parents[3]
UNIT = (ROOT / "deploy/antiphon.service").read_text()
PAGE = (ROOT / "docs/operate/deploy.md").read_text()
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
    before = PAGE.partition("../../deploy/antiphon.service")[0].rpartition("## Run with systemd")[2]

    assert "--store" not in UNIT
    assert "store = " in before


def test_a_reload_is_the_signal_on_which_settings_are_read_again() -> None:
    assert shlex.split(value_of("ExecReload")) == [
        "/bin/kill",
        f"-{SIGHUP.name.removeprefix('SIG')}",
        "$MAINPID",
    ]


ANALYZE = find("systemd-analyze") or ""
STRACE = find("strace") or ""

MOST_EXPOSED = 3.0
"""What systemd may rate the unit at, of 10; below 2 it calls it good."""


@needs(ANALYZE, "systemd")
def test_systemd_rates_the_sandbox_as_good() -> None:
    command = [
        ANALYZE,
        "security",
        "--offline=true",
        "--no-pager",
        str(ROOT / "deploy/antiphon.service"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    rated = re.search(r"Overall exposure level for antiphon.service: ([\d.]+)", done.stdout)

    assert rated is not None, done.stdout
    assert float(rated[1]) < MOST_EXPOSED


@needs(ANALYZE, "systemd")
def test_systemd_knows_every_line(tmp_path: Path) -> None:
    unit = tmp_path / "antiphon.service"
    unit.write_text(UNIT.replace("/opt/antiphon/bin/antiphon", "/bin/true"))
    done = subprocess.run(
        [ANALYZE, "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert [line for line in done.stderr.splitlines() if "antiphon.service" in line] == []


def filtered() -> set[str]:
    """The system calls that the unit allows, with systemd's groups written out."""
    found: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", UNIT, re.MULTILINE):
        names = {name for group in line.removeprefix("~").split() for name in members(group)}
        found = found - names if line.startswith("~") else found | names
    return found


def members(group: str) -> set[str]:
    if not group.startswith("@"):
        return {group}
    listed = subprocess.run(
        [ANALYZE, "syscall-filter", group], capture_output=True, text=True, check=True
    ).stdout
    names = [
        line.strip()
        for line in listed.splitlines()[1:]
        if line.strip() and not line.strip().startswith("#")
    ]
    return {one for name in names for one in members(name)}


@needs(ANALYZE, "systemd")
@needs(STRACE, "strace")
async def test_the_server_makes_no_system_call_that_the_unit_forbids(
    tmp_path: Path, backend: ReplayBackend
) -> None:
    """Two workers that serve, store and stop."""
    traced = tmp_path / "calls"
    store = f"sqlite://{tmp_path}/antiphon.db"
    program = tmp_path / "traced"
    program.write_text(TRACED.format(strace=STRACE, out=traced))
    flags = ("--port", "0", "--backend", backend.url, "--store", store, "--workers", "2")
    async with serving(tmp_path, *flags, program=program) as server:
        async with aiohttp.ClientSession() as http:
            await until_both_report(server.url, http)
            for body in ({}, {"stream": True}, {"background": True}):
                async with http.post(
                    f"{server.url}/responses", json={"model": "m", "input": "Hi", **body}
                ) as response:
                    assert response.status == 200
                    await response.read()
            async with http.get(server.url.removesuffix("/v1") + "/metrics") as response:
                assert response.status == 200
        (serving_process,) = pids_below(server.process.pid)
        os.kill(serving_process, signal.SIGTERM)  # strace keeps its own signals from what it traces
        await asyncio.wait_for(server.process.communicate(), 60)
    created = set(re.findall(r"^(?:\d+ +)?(\w+)\(", traced.read_text(), re.MULTILINE))

    assert server.process.returncode == 0
    assert len(created) > 40
    assert created - filtered() - AS_ROOT == set()


AS_ROOT = {"fchown"}
"""SQLite gives its files the owner of the database, where it runs as root; the user of the unit is
not root.
"""

TRACED = """
import os
import sys

arguments = ["-f", "-qq", "-o", "{out}", sys.executable, "-m", "antiphon", *sys.argv[1:]]
os.execv("{strace}", ["strace", *arguments])
"""
