"""Attacks on what all machines share: processes, memory, disk, and what the server reads (1, 2, 3,
11).
"""

import asyncio

import pytest
from bench.attacks.memory import namespaces

from antiphon.sandbox.contract import Machine, MachineLimits, SandboxError
from tests.support.sandboxes import (
    LIMITS,
    MEGABYTE,
    content,
    machine_of,
    parts,
    run,
    value,
    vanished,
)

FORKED = """
import os, time
children = []
try:
    while len(children) < 1000:
        child = os.fork()
        if child == 0:
            time.sleep(1000)
        children.append(child)
except OSError as error:
    failed = error.errno
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
len(children), failed
"""
BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
MANY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(60_000_000)
        time.sleep(1000)
time.sleep(1000)
"""
TINY = """
import os
os.makedirs("/tmp/many", exist_ok=True)
for number in range(10**7):
    os.close(os.open(f"/tmp/many/{number}", os.O_CREAT))
"""


async def test_a_machine_has_so_many_processes_and_no_more() -> None:
    async with machine_of(MachineLimits(memory=2048 * MEGABYTE, processes=40)) as machine:
        count, error = eval(await value(machine, FORKED))
        assert 0 < count < 40
        assert error == 11  # EAGAIN
        assert await value(machine, "'it goes on'") == "'it goes on'"


async def test_a_fork_bomb_ends_at_the_time_limit_with_every_process() -> None:
    before = namespaces()
    async with machine_of(MachineLimits(memory=2048 * MEGABYTE)) as machine, machine_of() as other:
        spaces = namespaces() - before
        assert spaces
        result = await run(machine, BOMB, 2)
        assert (result.ending, machine.is_alive) == ("timeout", False)
        assert await value(other, "1 + 1") == "2"
    await vanished(spaces)


async def test_a_large_allocation_fails_in_the_code_alone(machine: Machine) -> None:
    result = await run(machine, f"kept = 'kept'\nlarge = bytearray({LIMITS.memory})")
    assert "MemoryError" in result.printed
    assert await value(machine, "kept") == "'kept'"


async def test_processes_that_use_too_much_together_end_the_machine(machine: Machine) -> None:
    await machine.put("kept.txt", parts(b"kept"))
    result = await run(machine, MANY)
    assert (result.ending, machine.is_alive, machine.memory()) == ("memory", False, 0)
    assert await content(machine, "kept.txt") == b"kept"
    with pytest.raises(SandboxError, match="lost"):
        await run(machine, "1")


async def test_files_without_content_count_as_memory() -> None:
    async with machine_of(MachineLimits(memory=64 * MEGABYTE)) as machine:
        assert (await run(machine, TINY)).ending == "memory"


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.memfd_create('hidden')",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.shmget(0, 4096, "
        "0o1600) >= 0 or 1 / 0",
        "open('/dev/shm/large', 'wb').write(b'x' * 70_000_000)",
        "open('/tmp/large', 'wb').write(b'x' * 70_000_000)",
    ],
)
async def test_memory_that_belongs_to_no_process_is_refused_or_limited(
    machine: Machine, code: str
) -> None:
    assert "Error" in (await run(machine, code)).printed


async def test_a_file_and_the_disk_have_a_size(machine: Machine) -> None:
    large = f"with open('large', 'wb') as file: file.write(b'x' * {LIMITS.file_size + 1})"
    assert "File too large" in (await run(machine, large)).printed
    full = "for n in range(9):\n    open(str(n), 'wb').write(b'x' * 7_000_000)"
    assert "No space left on device" in (await run(machine, full)).printed
    assert sum(file.size for file in await machine.files()) <= LIMITS.disk
    with pytest.raises(SandboxError, match="No space left"):
        await machine.put(
            "more.bin", parts(b"x" * MEGABYTE, b"x" * MEGABYTE, b"x" * MEGABYTE, b"x" * MEGABYTE)
        )
    assert await value(machine, "import os\nfor n in os.listdir('.'): os.remove(n)\n1 + 1") == "2"


async def test_a_process_has_a_limit_of_open_files(machine: Machine) -> None:
    code = """
files = []
try:
    while len(files) < 2000:
        files.append(open("/dev/null"))
except OSError as error:
    print(error.strerror)
count = len(files)
for file in files: file.close()
print(count)"""
    reason, count = (await run(machine, code)).printed.splitlines()
    assert reason == "Too many open files"
    assert 200 < int(count) <= 256


@pytest.mark.parametrize(
    "place", ["/", "/usr", "/dev", "/run", "/mnt", "/etc", "/proc", "/run/kernel.py"]
)
async def test_nothing_else_can_be_written(machine: Machine, place: str) -> None:
    name = place if "." in place else f"{place}/x"
    assert "Error" in (await run(machine, f"open('{name}', 'w').write('x')")).printed


async def test_files_beyond_the_limit_are_omitted(machine: Machine) -> None:
    await run(machine, "for n in range(20_000): open(f'{n:05}', 'w').close()")
    assert len(await machine.files()) == LIMITS.files


@pytest.mark.parametrize(
    ("code", "seconds"),
    [
        ("while True: print('x' * 1000)", 2),
        ("import os\nwhile True: os.write(2, b'x' * 65536)", 2),
        ("import subprocess; subprocess.run('yes')", 2),
        ("print('x' * 50_000_000, end='')", 20),  # it ends earlier, on a quiet machine at once
    ],
)
async def test_endless_output_is_cut_and_waits_for_the_server(
    machine: Machine, code: str, seconds: float
) -> None:
    result = await run(machine, f"print('first')\n{code}\nprint('last')", seconds)
    assert result.printed.startswith("first\n")
    assert "bytes omitted" in result.printed
    assert len(result.printed) < LIMITS.output + 100


async def test_a_value_without_end_is_cut(machine: Machine) -> None:
    assert len(await value(machine, "'x' * 30_000_000")) < LIMITS.output + 100


async def test_a_command_with_endless_output_ends_alone(machine: Machine) -> None:
    await run(machine, "kept = 1")
    result = await machine.run_command("yes | tee /dev/stderr", 1, 1000)
    assert (result.ending, result.exit_code) == ("timeout", None)
    assert 1000 <= len(result.stdout) < 1100
    assert 1000 <= len(result.stderr) < 1100
    assert await value(machine, "kept") == "1"


async def test_output_between_calls_costs_the_server_nothing(machine: Machine) -> None:
    endless = (
        "import threading, os\nthreading.Thread(target=lambda: [os.write(1, "
        "b'x' * 999) for _ in iter(int, 1)])"
    )
    await run(machine, f"{endless}.start()")
    await asyncio.sleep(0)
    assert (await run(machine, "1 + 1")).value == "2"
