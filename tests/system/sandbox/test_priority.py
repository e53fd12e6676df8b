"""Code cannot use the CPU at the expense of others: neither by sessions, nor after its call."""

import errno
import os
from pathlib import Path

import pytest
from bench.attacks.memory import namespaces

from antiphon.sandbox.contract import Machine
from antiphon.sandbox.supervisor import PRIORITY
from tests.support.sandboxes import machine_of, run, value
from tests.support.waiting import until

SPINNING = """
import os, threading
for _ in range(6):
    if os.fork() == 0:
        while True:
            pass
threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
"""


def own_group() -> str:
    """Return the line of the tests' own group; it is empty where no session was ever created (a
    process of CI).
    """
    return Path("/proc/self/autogroup").read_text()


def processes(spaces: set[str]) -> dict[str, tuple[str, int]]:
    """Return the state of each process in these namespaces, except the first of each, and the CPU
    ticks of it.
    """
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (
                str((process / "ns/pid").readlink()) not in spaces
                or b"--args" in (process / "cmdline").read_bytes()
            ):
                continue
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            found[process.name] = fields[0], int(fields[11]) + int(fields[12])
        except OSError:
            """It has just ended."""
    return found


async def test_processes_are_stopped_between_two_calls() -> None:
    before = namespaces()
    async with machine_of() as machine:
        spaces = namespaces() - before
        await run(machine, SPINNING)
        await until(lambda: {state for state, _ in processes(spaces).values()} == {"T"})
        stopped = processes(spaces)
        assert len(stopped) >= 7
        assert await value(machine, "'it goes on'") == "'it goes on'"
        await until(lambda: {state for state, _ in processes(spaces).values()} == {"T"})
        assert (await machine.run_command("echo on", 60, 100)).stdout == "on\n"


async def test_a_machine_with_stuck_processes_is_abandoned_at_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> list[str]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    assert await value(machine, "1") == "1"
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", refuse)
        assert (await run(machine, "1")).ending == "lost"
    assert not machine.is_alive


async def test_a_session_cannot_be_created(machine: Machine) -> None:
    assert "PermissionError" in (await run(machine, "import os; os.setsid()")).printed
    assert "not permitted" in (await machine.run_command("setsid true; true", 60, 1000)).stderr


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel has no groups for sessions"
)
async def test_the_session_of_a_machine_has_a_lower_priority(machine: Machine) -> None:
    group, *priority = eval(await value(machine, "open('/proc/self/autogroup').read().split()"))
    assert priority == ["nice", PRIORITY]
    assert group not in own_group().split()
    assert "Error" in (await run(machine, "open('/proc/self/autogroup', 'w').write('0')")).printed
    assert os.getpriority(os.PRIO_PROCESS, 0) < int(
        await value(machine, "import os; os.getpriority(0, 0)")
    )
