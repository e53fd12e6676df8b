"""The command line of bubblewrap: the file system of a machine, and the user of its processes."""

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from antiphon.sandbox import kernel, pairs
from antiphon.sandbox.contract import DATA, MachineLimits
from antiphon.sandbox.environment import FILES, SYSTEM, PythonEnvironment
from antiphon.sharing.cores import whole_cores

MEGABYTE = 1024 * 1024
TEMPORARY = 64 * MEGABYTE
"""Bytes of /tmp, and of /dev/shm."""
SHARED = ("/proc", "/tmp", "/dev/shm")  # noqa: S108 - of the machine
"""Directories that the server monitors, in addition to `DATA`."""
OPEN_FILES = 256
FIGURES = 14 * MEGABYTE
"""Bytes of all images of one call."""
NICENESS = 19
"""The server's processes have priority for the CPU, also while code continues to run between
calls.
"""
KERNEL = "/run/kernel.py"
STARTUP = "/run/python/sitecustomize.py"
ENDED_FIRST = "{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null"
"""A shell command: when the host has no memory left, the kernel ends this shell, and all that it
starts, first.

Children of root cannot undo it, and in a machine /proc is read-only.
"""
DEVICES = ("null", "zero", "full", "random", "urandom")
USER = 1000
"""The user and group inside a machine; outside, its processes belong to the server's user."""
USERS = (1879048192, 2147352575)
"""User ids that no distribution assigns."""


@dataclass(frozen=True, slots=True)
class MachineUser:
    """The user of the processes of a machine.

    A server of an unprivileged user starts machines in a user namespace. A server of root needs
    none: bubblewrap prepares the machine as root, and then the machine changes to a user without
    other processes. So limits by user work (the kernel does not count the processes of root), and a
    machine cannot read files of root.
    """

    is_root: bool
    user: int
    """The user that the machine changes to, 0 without root."""


def new_identity() -> MachineUser:
    """Return the identity of a new machine."""
    if os.geteuid() != 0:
        return MachineUser(is_root=False, user=0)
    first, last = USERS
    ranges = [
        tuple(map(int, line.split()))
        for line in Path("/proc/self/uid_map").read_text().splitlines()
    ]
    if not any(
        start <= first and last < start + count for start, _, count in ranges
    ):  # in a container
        start, _, count = max(ranges, key=lambda each: each[2])
        first = start + count // 2
        last = start + count - 2
    return MachineUser(is_root=True, user=first + secrets.randbelow(max(last - first, 1)))


def options(
    environment: PythonEnvironment, limits: MachineLimits, identity: MachineUser
) -> list[str]:
    """Return the options of bubblewrap."""
    return [
        *_isolation(identity),
        *("--die-with-parent", "--clearenv", "--hostname", "container", "--chdir", DATA),
        *_variables(environment),
        *_files(environment, limits),
        # The score by which the kernel ends processes is set before; they must not change it.
        *("--remount-ro", "/proc", "--remount-ro", "/"),
    ]


def kernel_command(
    environment: PythonEnvironment, limits: MachineLimits, identity: MachineUser
) -> list[str]:
    """Return the command of the kernel program in the machine."""
    return [*_become(identity), environment.executable, "-I", KERNEL, _options(limits)]


def _isolation(identity: MachineUser) -> Iterator[str]:
    yield from (
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup-try",
    )
    yield from ("--cap-drop", "ALL")
    if identity.is_root:
        yield from (
            "--cap-add",
            "CAP_SETUID",
            "--cap-add",
            "CAP_SETGID",
        )  # dropped when it changes to the user
    else:
        yield from ("--unshare-user", "--disable-userns", "--uid", str(USER), "--gid", str(USER))


def _become(identity: MachineUser) -> Sequence[str]:
    """Return the beginning of a command that changes to the user of a machine that root
    prepared.
    """
    user = str(identity.user)
    become = ("setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps", "-all")
    return become if identity.is_root else ()


def _variables(environment: PythonEnvironment) -> Iterator[str]:
    threads = str(min(whole_cores(), 4))
    variables = {
        "PATH": environment.path,
        "HOME": "/tmp",  # noqa: S108 - of the machine; caches of programs are no files of the model
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": str(Path(STARTUP).parent),
        # Each thread of these libraries reserves memory, even while idle.
        **{f"{library}_NUM_THREADS": threads for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
        "MALLOC_ARENA_MAX": "2",
    }
    for name, value in variables.items():
        yield from ("--setenv", name, value)


def _files(environment: PythonEnvironment, limits: MachineLimits) -> Iterator[str]:
    """Yield the mounts of a machine. Every writable place has a size limit."""
    for path in SYSTEM:
        yield from _system(Path(path))
    yield from ("--perms", "0755", "--dir", "/etc")
    for path in FILES:
        yield from ("--ro-bind-try", path, path)
    yield from ("--proc", "/proc")
    yield from (
        "--tmpfs",
        "/dev",
        *_devices(),
        *_sized(TEMPORARY, "/dev/shm"),  # noqa: S108 - inside the machine
        "--remount-ro",
        "/dev",
    )
    yield from _sized(TEMPORARY, "/tmp")  # noqa: S108 - of the machine
    yield from _sized(limits.disk, DATA)
    yield from _placed(KERNEL, "--ro-bind", kernel.__file__)
    yield from _placed(STARTUP, "--ro-bind", pairs.__file__)
    for path in environment.binds:
        yield from _placed(path, "--ro-bind", path)
    for link, target in environment.links:
        yield from _placed(link, "--symlink", target)


def _system(path: Path) -> Sequence[str]:
    if path.is_symlink():
        return ("--symlink", str(path.readlink()), str(path))
    return ("--ro-bind", str(path), str(path)) if path.is_dir() else ()


def _placed(path: str, option: str, source: str) -> Iterator[str]:
    """Yield the options for one file or directory. bubblewrap itself can hide the directories above
    from a user.
    """
    for parent in reversed(Path(path).parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))
    yield from (option, source, path)


def _sized(size: int, path: str) -> Sequence[str]:
    return ("--perms", "0777", "--size", str(size), "--tmpfs", path)


def _devices() -> Iterator[str]:
    for name in DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    yield from ("--symlink", "/proc/self/fd", "/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        yield from ("--symlink", f"/proc/self/fd/{number}", f"/dev/{name}")


def _options(limits: MachineLimits) -> str:
    """Return the first argument of the kernel program."""
    return json.dumps(
        {
            "data": DATA,
            "shared": SHARED,
            "startup": STARTUP,
            "nice": NICENESS,
            "output": limits.output,
            "figures": FIGURES,
            "limits": {
                "RLIMIT_AS": limits.memory,
                "RLIMIT_NPROC": limits.processes,
                "RLIMIT_FSIZE": limits.file_size,
                "RLIMIT_NOFILE": OPEN_FILES,
                "RLIMIT_CORE": 0,
                "RLIMIT_MEMLOCK": 0,
                "RLIMIT_MSGQUEUE": 0,
                "RLIMIT_SIGPENDING": 256,
            },
        }
    )
