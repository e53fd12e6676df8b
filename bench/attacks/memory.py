"""Code that takes memory of the host, kind by kind: how far above (or, negative, below) its
machine's limit it comes.

It is measured outside of the machine. Other programs of the host take and release memory meanwhile,
so what can be counted for the machine alone is: its processes and its files in memory. Only the
kernel's own memory is counted for the whole host, where others change little. Pages that the kernel
keeps free for each CPU are free, though `MemFree` omits them: that can be gigabytes.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Iterable, Iterator
from pathlib import Path

from antiphon.sandbox.bubblewrap import Bubblewrap
from antiphon.sandbox.contract import MachineLimits
from bench.report import OURS, Reading

MEGABYTE = 1024 * 1024
LIMITS = MachineLimits(memory=256 * MEGABYTE, disk=24 * MEGABYTE)
SECONDS = 60.0
OTHERS = ("MemFree:", "Buffers:", "Cached:", "AnonPages:", "SReclaimable:")
"""What a host has free, for programs, and for files in memory or on a disk; the kernel holds the
rest.
"""
FREE_OF_CPU = re.compile(r"^ +count: +(\d+)$", re.MULTILINE)
PLACES = ("tmp", "dev/shm", "mnt/data")
"""Where the files of a machine are in memory."""
PAGE = os.sysconf("SC_PAGE_SIZE")
POLL_INTERVAL = 0.05
PROCESSES = 12
_TAKE = """
import ctypes, fcntl, os, time
import _socket
libc = ctypes.CDLL(None, use_errno=True)
def take(number):
{body}
for _ in range({processes}):
    if os.fork() == 0:
        kept = []
        try:
            for number in range(1000):
                kept.append(take(number))
        except BaseException:
            pass
        time.sleep(1000)
time.sleep(1)
"""
KINDS = {
    "memory of processes": """
    return bytearray(b"x") * 4_000_000""",
    "socket buffers": """
    pair = _socket.socketpair()
    pair[0].setblocking(False)
    pair[0].send(bytes(200_000))
    return pair""",
    "pipes": """
    reading, writing = os.pipe()
    os.write(writing, bytes(65536))""",
    "memory behind files": """
    os.write(os.memfd_create("x"), bytes(4_000_000))""",
    "shared memory": """
    with open(f"/dev/shm/{os.getpid()}-{number}", "wb") as file:
        file.write(bytes(1_000_000))""",
    "cached files": """
    with open(f"{os.getpid()}-{number}", "wb") as file:
        file.write(bytes(1_000_000))""",
    "locks": """
    file = open(f"/tmp/{os.getpid()}-{number}", "w+")
    for place in range(10_000):
        fcntl.lockf(file, fcntl.LOCK_SH, 1, 2 * place)
    return file""",
    "watched files": """
    watch = libc.inotify_init1(0)
    if watch < 0:
        raise OSError
    for name in os.listdir("/usr/bin"):
        libc.inotify_add_watch(watch, os.fsencode(f"/usr/bin/{name}"), 0xfff)""",
    "keyrings": """
    call = 248 if os.uname().machine == "x86_64" else 217
    if libc.syscall(call, b"user", b"%d" % number, bytes(20_000), 20_000, -3) < 0:
        raise OSError""",
}


def code(kind: str) -> str:
    """Return code that takes as much as it can of one kind of memory, in several processes."""
    return _TAKE.format(body=KINDS[kind], processes=PROCESSES)


def figure(kind: str) -> str:
    """Return the name of the figure of one kind."""
    return f"memory of the host above the limit of code, {kind}, MB"


def reading(_: Path) -> Iterator[Reading]:
    """Attack with each kind, in a machine of its own.

    Raises `RuntimeError` where bubblewrap does not work.
    """
    for kind in KINDS:
        yield figure(kind), OURS, asyncio.run(_above(kind)) / 1e6


async def _above(kind: str) -> int:
    sandbox = Bubblewrap()
    if problem := await sandbox.probe():
        raise RuntimeError(f"code that takes memory: {problem}")
    before = namespaces()
    try:
        machine = await sandbox.start(LIMITS)
        most = await most_while(machine.run_code(code(kind), SECONDS), namespaces() - before)
    finally:
        await sandbox.close()
    if most <= 0:
        raise RuntimeError(
            f"code that takes memory: other programs of the host hide what the {kind} took"
        )
    return most - LIMITS.memory - LIMITS.disk


async def most_while(call: Awaitable[object], spaces: set[str]) -> int:
    """Await a call of code in these namespaces; return the most bytes that the host has lost to
    it.
    """
    before = _used_by_the_kernel()
    most = 0
    task = asyncio.ensure_future(call)
    while not task.done():
        kernel = await asyncio.to_thread(_used_by_the_kernel)
        most = max(most, kernel - before + await asyncio.to_thread(_used_by_machine, spaces))
        await asyncio.wait([task], timeout=POLL_INTERVAL)
    await task
    return most


def namespaces() -> set[str]:
    """Return the namespaces of processes that this process has started, directly or not, except its
    own.

    Others of this host start machines at the same time, tests beside this one for example.
    """
    return _of(_descendants(Path("/proc/self")))


def all_namespaces() -> set[str]:
    """Return the namespaces of all processes of this host, except this process's own."""
    return _of(Path("/proc").glob("[0-9]*"))


def _of(processes: Iterable[Path]) -> set[str]:
    return {each for each in map(_namespace, processes) if each} - {_namespace(Path("/proc/self"))}


def _descendants(process: Path) -> Iterator[Path]:
    for thread in process.glob("task/*/children"):
        try:
            children = thread.read_text().split()
        except OSError:  # it has just ended
            continue
        for child in children:
            yield Path("/proc") / child
            yield from _descendants(Path("/proc") / child)


def _namespace(process: Path) -> str:
    try:
        return str((process / "ns/pid").readlink())
    except OSError:
        return ""


def _used_by_machine(spaces: set[str]) -> int:
    """Return the bytes of the processes in these namespaces, each shared page once, and of their
    files in memory.
    """
    total = 0
    disks = dict[int, int]()
    files = dict[int, int]()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if _namespace(process) not in spaces:
                continue
            total += _kilobytes(process / "smaps_rollup", "Pss:") * 1024
            disks |= dict(_used(process / "root" / place) for place in PLACES)
            files |= dict(_unnamed(process / "fd"))
        except OSError:
            """It has just ended."""
    return total + sum(disks.values()) + sum(files.values())


def _used(place: Path) -> tuple[int, int]:
    """Return the number of a file system, and the bytes of all files in it."""
    facts = os.statvfs(place)
    return place.stat().st_dev, (facts.f_blocks - facts.f_bfree) * facts.f_frsize


def _unnamed(files: Path) -> Iterator[tuple[int, int]]:
    """Return the number and the bytes of each open file that is in memory and in no file system."""
    for file in files.iterdir():
        if str(file.readlink()).startswith("/memfd:"):
            facts = file.stat()
            yield facts.st_ino, facts.st_blocks * 512


def _kilobytes(file: Path, *names: str) -> int:
    return sum(
        int(line.split()[1]) for line in file.read_text().splitlines() if line.startswith(names)
    )


def _used_by_the_kernel() -> int:
    """Return the bytes of the whole host: what other programs change meanwhile is small beside the
    limit.
    """
    facts = Path("/proc/meminfo")
    free = _free_of_cpus()
    retained = (_kilobytes(facts, "MemTotal:") - _kilobytes(facts, *OTHERS)) * 1024
    return retained - max(free, _free_of_cpus())  # others free memory between two reads


def _free_of_cpus() -> int:
    """Return the bytes that the kernel keeps free for each CPU."""
    return sum(map(int, FREE_OF_CPU.findall(Path("/proc/zoneinfo").read_text()))) * PAGE
