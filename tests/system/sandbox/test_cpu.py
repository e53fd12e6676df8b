"""Code has its tenant's share of the CPU and no more, whatever processes it starts; others do not
wait for it.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from bench.attacks.memory import namespaces

from antiphon.sandbox import supervisor
from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.sandbox.contract import CodeResult, CommandResult, Machine, SandboxError
from antiphon.sandbox.machine import BubblewrapMachine
from tests.support.sandboxes import LIMITS, PATIENCE, run, value
from tests.support.waiting import until
from tests.system.sandbox.test_priority import processes

TICKS = os.sysconf("SC_CLK_TCK")
CORES = 0.1
"""So few that processes which spin exceed them on any machine."""
PAUSES = 100
DEBT = 200.0
"""Seconds in which all that is charged at once is paid: more where the machine is busy and the
watch comes late.
"""

SPIN = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        while True:
            pass
time.sleep(1000)
"""
HIDE = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        os._exit(0)
    try:
        os.waitpid(-1, 0)
    except OSError:
        pass
"""
FORK = """
import os
for _ in range(3):
    if os.fork() == 0:
        break
while True:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
"""
FINITE = """
import time
while time.process_time() < 0.5:
    pass
'done'
"""


@pytest.fixture
async def sandbox(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bubblewrap]:
    """Its machines have the priority of the tests: with a lower one they use too little of a busy
    host to pause.
    """
    monkeypatch.setattr(supervisor, "PRIORITY", "0")
    one = Bubblewrap(cores=CORES)
    yield one
    await one.close()


async def machine_for(sandbox: Bubblewrap, owner: str) -> tuple[Machine, set[str]]:
    """Return a machine of this owner, and its namespace."""
    before = namespaces()
    machine = await sandbox.start(replace(LIMITS, owner=owner))
    return machine, namespaces() - before


def is_paused(spaces: set[str]) -> bool:
    """Whether all processes are stopped, as this host sees them."""
    return {state for state, _ in processes(spaces).values()} == {"T"}


def runs(spaces: set[str]) -> bool:
    return "R" in {state for state, _ in processes(spaces).values()}


async def ended(
    machine: Machine, call: "asyncio.Task[CodeResult] | asyncio.Task[CommandResult]"
) -> None:
    await machine.close()
    await asyncio.gather(call, return_exceptions=True)


async def test_no_process_escapes_a_pause_by_a_fork() -> None:
    sandbox = Bubblewrap()
    machine, spaces = await machine_for(sandbox, "a")
    assert isinstance(machine, BubblewrapMachine)
    call = asyncio.create_task(run(machine, FORK, 10 * PATIENCE))
    await until(lambda: runs(spaces), DEBT)
    for _ in range(PAUSES):
        machine.pause(is_paused=True)
        assert not {state for state, _ in processes(spaces).values()} & {"R", "S"}
        machine.pause(is_paused=False)
        await until(lambda: runs(spaces), DEBT)
    await ended(machine, call)
    await sandbox.close()


@pytest.mark.parametrize(
    "code", [SPIN, HIDE], ids=["children that spin", "children that nobody waits for"]
)
async def test_processes_that_exceed_the_share_of_their_owner_pause_and_continue(
    sandbox: Bubblewrap, code: str
) -> None:
    machine, spaces = await machine_for(sandbox, "a")
    call = asyncio.create_task(run(machine, code, 10 * PATIENCE))
    for _ in range(2):
        await until(lambda: is_paused(spaces), DEBT)
        assert not call.done()
        await until(lambda: runs(spaces), DEBT)
    await ended(machine, call)


async def test_a_command_pauses_as_code_does(sandbox: Bubblewrap) -> None:
    machine, spaces = await machine_for(sandbox, "a")
    call = asyncio.create_task(
        machine.run_command("while true; do :; done & while true; do :; done", 600, 100)
    )
    await until(lambda: is_paused(spaces), DEBT)
    await until(lambda: runs(spaces), DEBT)
    assert not call.done()
    await ended(machine, call)


async def test_all_machines_of_an_owner_pause_and_those_of_others_run(sandbox: Bubblewrap) -> None:
    first, spaces = await machine_for(sandbox, "a")
    second, more = await machine_for(sandbox, "a")
    other, _ = await machine_for(sandbox, "b")
    calls = [asyncio.create_task(run(one, SPIN, 10 * PATIENCE)) for one in (first, second)]
    await until(lambda: runs(spaces) and runs(more), DEBT)  # they were stopped before their calls
    await until(lambda: is_paused(spaces) and is_paused(more), DEBT)
    assert await value(other, "6 * 7") == "42"
    assert not any(call.done() for call in calls)
    for machine, call in zip((first, second), calls, strict=True):
        await ended(machine, call)


async def test_paused_code_completes_and_its_time_is_known(sandbox: Bubblewrap) -> None:
    machine, spaces = await machine_for(sandbox, "a")
    result = await run(machine, FINITE)
    assert (result.value, result.ending) == ("'done'", "completed")
    assert result.spent.paused > 0
    seen = sum(ticks for _, ticks in processes(spaces).values()) / TICKS
    assert result.spent.cpu > 0.4
    assert seen < result.spent.cpu + 0.1


async def test_a_paused_call_ends_at_its_time_limit_with_all_that_it_spent(
    sandbox: Bubblewrap,
) -> None:
    machine, spaces = await machine_for(sandbox, "a")
    result = await run(machine, SPIN, 3)
    assert (result.ending, processes(spaces)) == ("timeout", {})
    assert result.spent.cpu > 0
    with pytest.raises(SandboxError, match="lost"):
        await run(machine, "1")


async def test_a_machine_stays_stopped_between_calls_when_its_owner_may_run_again(
    sandbox: Bubblewrap,
) -> None:
    machine, spaces = await machine_for(sandbox, "a")
    spinning = SPIN.replace("time.sleep(1000)", "time.sleep(0.5)")
    assert (await run(machine, spinning)).ending == "completed"
    other, _ = await machine_for(sandbox, "a")
    assert await value(other, "'after the debt'") == "'after the debt'"
    assert is_paused(spaces)
