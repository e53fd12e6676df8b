"""Memory of the kernel that belongs to no process: code cannot have it, or it is counted (attack on
a whole host).
"""

import pytest

from antiphon.sandbox.contract import Machine
from antiphon.sandbox.pairs import NO_SOCKETS
from tests.support.sandboxes import run, value
from tests.support.waiting import until

CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
result = libc.{name}({arguments})
result, errno.errorcode.get(ctypes.get_errno())
"""

REFUSED = {
    "a socket": ("socket", "1, 1, 0"),
    "a pair of sockets": ("socketpair", "1, 1, 0, (ctypes.c_int * 2)()"),
    "inotify": ("inotify_init1", "0"),
    "a keyring": ("syscall", "{add_key}, b'user', b'x', b'y', 1, -3"),
    "memory behind a file": ("memfd_create", "b'x', 0"),
    "shared memory": ("shmget", "0, 4096, 0o1600"),
    "pages that are given to a pipe": ("vmsplice", "1, None, 0, 0"),
    "a session": ("setsid", ""),
}

RETAINED = {
    "locks": (
        2,
        """
import fcntl, os
files = [os.open(f"locked{number}", os.O_RDWR | os.O_CREAT) for number in range(20)]
for file in files:
    for number in range(500):
        fcntl.lockf(file, fcntl.LOCK_SH, 1, 2 * number)
""",
    ),
    "mappings": (
        4,
        """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for number in range(20_000):
    libc.mmap(None, 4096, number % 2, 0x22, -1, 0)
""",
    ),
    "pipes": (
        8,
        """
import os
pipes = [os.pipe() for _ in range(110)]
for _, writing in pipes:
    os.write(writing, bytes(65536))
""",
    ),
}
"""Code, and the megabytes of the kernel's memory that it has in the end."""


@pytest.mark.parametrize(("name", "arguments"), REFUSED.values(), ids=REFUSED)
async def test_what_no_process_has_is_refused(machine: Machine, name: str, arguments: str) -> None:
    number = "248 if __import__('platform').machine() == 'x86_64' else 217"
    code = CALL.format(name=name, arguments=arguments.replace("{add_key}", number))
    assert await value(machine, code) == "(-1, 'EPERM')"


@pytest.mark.parametrize(("megabytes", "code"), RETAINED.values(), ids=RETAINED)
async def test_what_the_kernel_holds_for_processes_is_counted(
    machine: Machine, megabytes: int, code: str
) -> None:
    await until(lambda: machine.memory() > 0)
    before = machine.memory()
    assert (await run(machine, code)).printed == ""
    await until(lambda: machine.memory() > before + megabytes * 1_000_000)


async def test_a_pipe_cannot_be_enlarged(machine: Machine) -> None:
    code = "import fcntl, os; fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 1024 * 1024)"
    assert "PermissionError" in (await run(machine, code)).printed


async def test_asyncio_works_without_sockets(machine: Machine) -> None:
    code = """
import asyncio, subprocess, sys
async def through(data):
    process = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return (await process.communicate(data))[0]
print(await through(b"data"))
command = [sys.executable, "-c", "import asyncio; print(asyncio.run(asyncio.sleep(0.01, 'waited')))"]
print(subprocess.run(command, capture_output=True, text=True).stdout)
"""  # noqa: E501 - the lines of a text
    assert (await run(machine, code)).printed.split() == ["b'data'", "waited"]


async def test_processes_of_python_talk_in_both_directions_without_sockets(
    machine: Machine,
) -> None:
    code = """
import multiprocessing
def double(end):
    with end:
        end.send(2 * len(end.recv_bytes()))
ours, theirs = multiprocessing.Pipe()
process = multiprocessing.get_context("fork").Process(target=double, args=(theirs,))
process.start()
theirs.close()
ours.send_bytes(bytes(300_000))
print(ours.recv(), ours.poll(10))
process.join()
try:
    ours.recv()
except EOFError:
    print("end")
ours.close()
"""
    assert (await run(machine, code)).printed.split() == ["600000", "True", "end"]


WITHOUT_SOCKETS = {
    "a socket": "import socket; socket.socket()",
    "a server": "import socketserver; socketserver.TCPServer(('', 0), None)",
    "both directions of a pair": "import socket; socket.socketpair()[0].send(b'x')",
    "another method of a pair": "import socket; socket.socketpair()[0].sendall(b'x')",
    "objects of several processes": "import multiprocessing; "
    "multiprocessing.get_context('fork').Manager()",
    "a connection that is sent": "import multiprocessing; "
    "multiprocessing.SimpleQueue().put(multiprocessing.Pipe())",
}


@pytest.mark.parametrize("code", WITHOUT_SOCKETS.values(), ids=WITHOUT_SOCKETS)
async def test_a_tool_that_needs_sockets_has_its_reason_of_failure(
    machine: Machine, code: str
) -> None:
    assert NO_SOCKETS in (await run(machine, code)).printed


async def test_code_is_ended_before_the_server_when_the_host_has_no_memory(
    machine: Machine,
) -> None:
    assert await value(machine, "open('/proc/self/oom_score_adj').read().strip()") == "'1000'"
    for place in ("self", "1"):
        failed = await run(machine, f"open('/proc/{place}/oom_score_adj', 'w').write('0')")
        assert "Error" in failed.printed
