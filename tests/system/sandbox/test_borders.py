"""Attacks on the borders of a machine: network, links, devices, /proc, namespaces, signals (4 to
9).
"""

import ctypes
import os
import socket
from pathlib import Path

import pytest
from bench.attacks.memory import namespaces

from antiphon.sandbox import seccomp
from antiphon.sandbox.contract import Machine, SandboxError
from tests.support.sandboxes import content, machine_of, parts, run, value, vanished

CALL = """
import ctypes, errno, platform
library = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    done = library.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode.get(ctypes.get_errno(), 'done')
"""
SUBREAPER = 36
NEW_USER = 0x10000000
COLUMN = seccomp.MACHINES[os.uname().machine][0]
DENIED = {
    name: numbers[COLUMN] for name, numbers in seccomp.DENIED.items() if numbers[COLUMN] is not None
}


async def test_there_is_no_network(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind("\0antiphon-test")
        local.listen()
        connect = "import socket; socket.create_connection({}, timeout=5)"
        for address in (server.getsockname(), ("192.0.2.1", 80), ("169.254.169.254", 80)):
            printed = (await run(machine, connect.format(address))).printed
            assert any(
                reason in printed
                for reason in ("unreachable", "ConnectionRefusedError", "PermissionError")
            )
        reach = "import socket; socket.socket(socket.AF_UNIX).connect('\\0antiphon-test')"
        printed = (await run(machine, reach)).printed
        assert "ConnectionRefusedError" in printed or "PermissionError" in printed
    assert (
        await value(machine, "[line.split(':')[0].strip() for line in open('/proc/net/dev')][2:]")
        == "['lo']"
    )


@pytest.mark.parametrize("family", [16, 17, 38, 40])  # netlink, packet, alg, vsock
async def test_sockets_that_know_no_namespace_are_refused(machine: Machine, family: int) -> None:
    result = await run(machine, f"import socket; socket.socket({family}, socket.SOCK_RAW)")
    assert "Address family not supported" in result.printed or "PermissionError" in result.printed


async def test_links_pipes_and_sockets_are_no_files(machine: Machine, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    await run(
        machine,
        f"""
import os, socket
os.symlink({str(secret)!r}, "link")
os.symlink("/proc/self/environ", "environ")
os.symlink("..", "up")
os.mkdir("folder")
os.mkfifo("fifo")
try:
    socket.socket(socket.AF_UNIX).bind("socket")
except PermissionError:  # without a control group there are none
    pass
open("real.txt", "w").write("real")
os.link("real.txt", "hard.txt")
open(b"\\xff", "w").write("no name")
""",
    )
    assert [file.name for file in await machine.files()] == ["hard.txt", "real.txt"]
    for name in ("link", "environ", "up", "folder", "fifo", "socket", "missing"):
        with pytest.raises(SandboxError, match="cannot be read"):
            await content(machine, name)
    for name in ("..", "../x", "/etc/passwd", "a/b", "", "a\0b"):
        with pytest.raises(ValueError, match="one path component"):
            await content(machine, name)
        with pytest.raises(ValueError, match="one path component"):
            await machine.put(name, parts(b"x"))


async def test_a_file_that_replaces_a_link_does_not_follow_it(
    machine: Machine, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    target.chmod(0o666)
    await run(
        machine, f"import os; os.symlink({str(target)!r}, 'a'); os.symlink('/mnt/data/b', 'c')"
    )
    await machine.put("a", parts(b"new"))
    await machine.put("c", parts(b"new"))
    assert target.read_text() == "untouched"
    assert [file.name for file in await machine.files()] == ["a", "c"]
    await run(machine, "import os; os.mkdir('folder')")
    with pytest.raises(SandboxError, match="cannot be written"):
        await machine.put("folder", parts(b"x"))


async def test_a_file_that_becomes_a_link_while_it_is_read_gives_nothing_of_the_host(
    machine: Machine,
) -> None:
    swap = """
import os, threading
open("real", "w").write("real")
def swap():
    while True:
        for target in ("/etc/passwd", "/run/kernel.py"):
            os.symlink(target, "new"); os.replace("new", "file")
            open("new", "w").write("real"); os.replace("new", "file")
threading.Thread(target=swap, daemon=True).start()
"""
    await run(machine, swap)
    seen = set()
    for _ in range(300):
        try:
            seen.add(await content(machine, "file"))
        except SandboxError:
            continue
    assert seen <= {b"", b"real"}


async def test_there_are_five_devices_and_no_others_can_be_created(machine: Machine) -> None:
    kind = "lambda entry: stat.S_ISCHR(entry.stat(follow_symlinks=False).st_mode)"
    found = await value(
        machine, f"import os, stat; sorted(e.name for e in filter({kind}, os.scandir('/dev')))"
    )
    assert found == "['full', 'null', 'random', 'urandom', 'zero']"
    make = "import os, stat; os.mknod('disk', {} | 0o600, os.makedev(8, 0))"
    for kind in ("stat.S_IFBLK", "stat.S_IFCHR"):
        assert "PermissionError" in (await run(machine, make.format(kind))).printed


async def test_proc_shows_the_machine_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    displayed = await value(
        machine, "import os; sorted(int(n) for n in os.listdir('/proc') if n.isdigit())"
    )
    assert len(eval(displayed)) == 2
    for place in ("sys/kernel/core_pattern", "sys/kernel/hostname", "sysrq-trigger"):
        assert "Error" in (await run(machine, f"open('/proc/{place}', 'r+').write('x')")).printed
    for place in ("kcore", "1/root/etc/passwd", "1/environ"):
        printed = await run(machine, f"len(open('/proc/{place}', 'rb').read(9))")
        assert "Error" in printed.printed or printed.value == "0"


async def test_the_first_process_is_out_of_reach_or_as_limited_as_the_code(
    machine: Machine,
) -> None:
    reach = (
        "try:\n    reached = bool(open('/proc/1/mem', 'r+b'))\nexcept OSError:\n    "
        "reached = False\nreached"
    )
    if await value(machine, reach) == "True":
        first, own = [
            await value(machine, f"open('/proc/{process}/limits').read()")
            for process in ("1", "self")
        ]
        assert first == own
        status = await value(machine, "open('/proc/1/status').read()")
        assert "Seccomp:\\t2" in status
        assert "CapEff:\\t0000000000000000" in status


async def test_a_machine_knows_nothing_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("LD_PRELOAD", "")
    poll = """
import os, glob
text = ""
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + ["/proc/self/mounts", "/proc/self/mountinfo"]:
    try:
        text += open(path).read()
    except OSError:
        pass
print(text, os.environ, os.listdir("/"), os.listdir("/proc/self/fd"))
"""  # noqa: E501 - the lines of a text
    async with machine_of() as machine:
        printed = (await run(machine, poll)).printed
        assert "sk-canary" not in printed
        assert "--ro-bind" not in printed
        assert "OPENAI" not in printed
        for path in ("/etc/passwd", "/etc/shadow", "/home", "/root", "/var", __file__):
            assert await value(machine, f"import os; os.path.exists({path!r})") == "False"


async def test_the_processes_have_no_rights(machine: Machine) -> None:
    status = dict(
        line.split(":\t")
        for line in eval(await value(machine, "open('/proc/self/status').read()")).splitlines()
    )
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert await value(machine, "import os; 0 in os.getresuid() + os.getresgid()") == "False"
    for become in ("os.setuid(0)", "os.setgid(0)", "os.setgroups([0])"):
        assert "Error: [Errno" in (await run(machine, f"import os; {become}")).printed


async def test_every_denied_call_is_refused(machine: Machine) -> None:
    await run(machine, CALL)
    names = await value(machine, f"{{name: call(number) for name, number in {DENIED!r}.items()}}")
    assert eval(names) == dict.fromkeys(DENIED, "EPERM")


async def test_there_are_no_namespaces_inside(machine: Machine) -> None:
    await run(machine, CALL)
    clone = seccomp.CLONE[COLUMN]
    clone3 = seccomp.CLONE3[COLUMN]
    assert await value(machine, f"call({clone}, {NEW_USER | 17}, 0, 0, 0, 0)") == "'EPERM'"
    assert await value(machine, f"call({clone3}, 0, 0)") == "'ENOSYS'"
    result = await machine.run_command(
        "unshare -r true; unshare --net true; mount -t tmpfs x /tmp", 20, 999
    )
    assert result.exit_code != 0
    assert result.stderr.count("unshare failed") == 2
    assert (
        await value(
            machine, "import threading; t = threading.Thread(target=int); t.start(); t.join(); 1"
        )
        == "1"
    )


@pytest.mark.parametrize(
    "code",
    ["import os; os.killpg(0, 9)", "import os; os.abort()", "import os; os._exit(0)"],
)
async def test_a_machine_that_ends_itself_is_lost_alone(code: str) -> None:
    before = namespaces()
    async with machine_of() as machine, machine_of() as other:
        spaces = namespaces() - before
        await machine.put("kept.txt", parts(b"kept"))
        result = await run(machine, f"print('until here', flush=True)\n{code}")
        assert (result.printed, result.ending, machine.is_alive) == ("until here\n", "lost", False)
        assert await content(machine, "kept.txt") == b"kept"
        assert await value(other, "1 + 1") == "2"
    await vanished(spaces)


async def test_no_ending_leaves_an_orphan() -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # orphans become children of this process
    try:
        async with machine_of() as one, machine_of() as other, machine_of() as last:
            await run(one, "while True: pass", 0.5)
            await run(other, "import os; os._exit(0)")
            assert last.is_alive
        assert orphans() == []
    finally:
        ctypes.CDLL(None).prctl(SUBREAPER, 0, 0, 0, 0)


def orphans() -> list[str]:
    """Zombies that are children of this process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text()
        except OSError:
            continue
        if fields.rpartition(")")[2].split()[:2] == ["Z", str(os.getpid())]:
            found.append(fields)
    return found


async def test_signals_reach_no_process_outside(machine: Machine) -> None:
    refused = f"""
import os
refused = []
for process in (-1, 1, {os.getpid()}, {os.getppid()}):
    try:
        os.kill(process, 9)
    except OSError as error:
        refused.append(process)
"""
    await run(machine, refused)
    if machine.is_alive:
        assert {str(os.getpid()), str(os.getppid())} <= set(
            (await value(machine, "refused"))[1:-1].split(", ")
        )


async def test_a_machine_that_stops_itself_ends_at_the_time_limit(machine: Machine) -> None:
    result = await run(machine, "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", 1)
    assert (result.ending, machine.is_alive) == ("timeout", False)
