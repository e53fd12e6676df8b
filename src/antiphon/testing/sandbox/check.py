"""The promises of `antiphon.sandbox.contract.Sandbox` as code: check your own sandbox.

    await check_sandbox(Bubblewrap())

Each promise is a function; its docstring is reported if the promise is broken. Isolation is not
checked: attack your sandbox as `tests/system/sandbox` does.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from antiphon.sandbox.contract import FoundFile, Machine, MachineLimits, Sandbox, SandboxError

LIMITS = MachineLimits(memory=1024 * 1024 * 1024, files=5, file_size=100_000, output=2000)
SECONDS = 60.0
SHORT = 1.0
"""Time limit in seconds of calls that exceed it."""
NAMES = ("", ".", "..", "../x", "/x", "a/b", "a\0b", "x" * 300)

Promise = Callable[[Sandbox, Machine], Awaitable[None]]


async def check_sandbox(sandbox: Sandbox) -> None:
    """Check every promise, each with a new machine. Closes the sandbox.

    Raises `AssertionError` with a line for each broken promise.
    """
    broken = [line for promise in PROMISES for line in await _broken(promise, sandbox)]
    await sandbox.close()
    if broken:
        raise AssertionError("\n".join(broken))


async def _broken(promise: Promise, sandbox: Sandbox) -> list[str]:
    try:
        machine = await sandbox.start(LIMITS)
        try:
            await promise(sandbox, machine)
        finally:
            await machine.close()
    except Exception as error:  # any exception of the sandbox is a result
        return [f"{promise.__doc__} {type(error).__name__}: {error}"]
    return []


def _same(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


async def _refused(call: Awaitable[object], kind: type[Exception]) -> None:
    try:
        await call
    except kind:
        return
    raise AssertionError(f"no {kind.__name__} was raised")


async def _parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def _content(machine: Machine, name: str, limit: int = 1_000_000) -> bytes:
    return b"".join([part async for part in machine.read(name, limit)])


async def _found(machine: Machine) -> dict[str, FoundFile]:
    return {file.name: file for file in await machine.files()}


async def _probe_prints_nothing(sandbox: Sandbox, machine: Machine) -> None:
    """`probe` returns an empty string if machines can run."""
    _same(await sandbox.probe(), "")


async def _variables_stay(sandbox: Sandbox, machine: Machine) -> None:
    """Variables and imports remain for the next call."""
    await machine.run_code("import math\nnumber = 6", SECONDS)
    _same((await machine.run_code("math.floor(number * 7)", SECONDS)).value, "42")
    _same(machine.is_alive, True)


async def _last_value(sandbox: Sandbox, machine: Machine) -> None:
    """`value` is the `repr` of the last expression; it is empty for None, and without an
    expression.
    """
    _same((await machine.run_code("'a' + 'b'", SECONDS)).value, "'ab'")
    for code in ("None", "x = 1", ""):
        _same((await machine.run_code(code, SECONDS)).value, "")


async def _printed(sandbox: Sandbox, machine: Machine) -> None:
    """Output of code is in `printed`, and so is the traceback of an exception; the machine
    continues.
    """
    result = await machine.run_code("print('first')\nprint('second')", SECONDS)
    _same((result.printed, result.ending), ("first\nsecond\n", "completed"))
    result = await machine.run_code("print('before')\n1 / 0", SECONDS)
    _same(result.printed.startswith("before\n"), True)
    _same("ZeroDivisionError" in result.printed, True)
    _same((result.ending, machine.is_alive), ("completed", True))


async def _output_is_cut(sandbox: Sandbox, machine: Machine) -> None:
    """A text longer than `MachineLimits.output` keeps its beginning and its end."""
    printed = (await machine.run_code("print('A' + 'x' * 100_000 + 'Z')", SECONDS)).printed
    _same((printed[0], printed.rstrip()[-1], len(printed) < 2 * LIMITS.output), ("A", "Z", True))


async def _files_out(sandbox: Sandbox, machine: Machine) -> None:
    """`files` returns the regular files that code wrote, `read` their content up to a limit."""
    await machine.run_code(
        "import os\nopen('a.txt', 'w').write('written')\nos.mkdir('folder')", SECONDS
    )
    found = await _found(machine)
    _same({name: file.size for name, file in found.items()}, {"a.txt": 7})
    _same(
        (await _content(machine, "a.txt"), await _content(machine, "a.txt", 3)),
        (b"written", b"wri"),
    )
    await _refused(_content(machine, "missing.txt"), SandboxError)


async def _versions(sandbox: Sandbox, machine: Machine) -> None:
    """The version of a file changes when the file does, and only then."""
    await machine.run_code(
        "open('a.txt', 'w').write('written')\nopen('b.txt', 'w').write('stays')", SECONDS
    )
    before = await _found(machine)
    await machine.run_code("open('a.txt', 'w').write('another text')", SECONDS)
    after = await _found(machine)
    _same(before["b.txt"], after["b.txt"])
    _same(before["a.txt"].version == after["a.txt"].version, False)


async def _files_in(sandbox: Sandbox, machine: Machine) -> None:
    """`put` writes a file for code to read, and replaces one of the same name; too large files are
    rejected.
    """
    await machine.put("a b.csv", _parts(b"a,", b"b\n"))
    _same((await machine.run_code("open('a b.csv').read()", SECONDS)).value, repr("a,b\n"))
    await machine.put("a b.csv", _parts(b"new"))
    _same(await _content(machine, "a b.csv"), b"new")
    await _refused(machine.put("large", _parts(b"x" * 60_000, b"x" * 60_000)), SandboxError)


async def _names(sandbox: Sandbox, machine: Machine) -> None:
    """A filename is one path component."""
    for name in NAMES:
        await _refused(machine.put(name, _parts(b"x")), ValueError)


async def _so_many_files(sandbox: Sandbox, machine: Machine) -> None:
    """`files` returns at most `MachineLimits.files`."""
    await machine.run_code("for n in range(9): open(str(n), 'w').close()", SECONDS)
    _same(len(await machine.files()), LIMITS.files)


async def _commands(sandbox: Sandbox, machine: Machine) -> None:
    """Commands run in the same directory, with both streams and their exit code."""
    await machine.put("a.txt", _parts(b"content"))
    result = await machine.run_command("cat a.txt; echo problem >&2; exit 3", SECONDS, 1000)
    _same((result.stdout, result.stderr, result.exit_code), ("content", "problem\n", 3))
    _same((await machine.run_command("true", SECONDS, 1000)).exit_code, 0)
    cut = await machine.run_command("yes | head -c 10000", SECONDS, 100)
    _same(len(cut.stdout) < 200, True)


async def _command_over_its_time(sandbox: Sandbox, machine: Machine) -> None:
    """A command that exceeds its time limit is ended; the machine continues."""
    await machine.run_code("kept = 'kept'", SECONDS)
    result = await machine.run_command("echo before; sleep 1000", SHORT, 1000)
    _same((result.stdout, result.exit_code, result.ending), ("before\n", None, "timeout"))
    _same((await machine.run_code("kept", SECONDS)).value, "'kept'")


async def _code_over_its_time(sandbox: Sandbox, machine: Machine) -> None:
    """Code that exceeds its time limit ends the machine; its files remain readable."""
    await machine.put("a.txt", _parts(b"kept"))
    result = await machine.run_code("while True: pass", SHORT)
    _same((result.ending, machine.is_alive), ("timeout", False))
    if "a.txt" in await _found(machine):
        _same(await _content(machine, "a.txt"), b"kept")
    await _refused(machine.run_code("1", SECONDS), SandboxError)


async def _apart(sandbox: Sandbox, machine: Machine) -> None:
    """Two machines share nothing."""
    other = await sandbox.start(LIMITS)
    try:
        await machine.run_code("secret = 1\nopen('secret.txt', 'w').write('1')", SECONDS)
        _same((await other.run_code("'secret' in globals()", SECONDS)).value, "False")
        _same(await _found(other), {})
    finally:
        await other.close()


async def _closed(sandbox: Sandbox, machine: Machine) -> None:
    """`close` can be called again; every call to a closed machine raises `SandboxError`."""
    await machine.close()
    await machine.close()
    _same((machine.is_alive, machine.memory()), (False, 0))
    await _refused(machine.run_code("1", SECONDS), SandboxError)
    await _refused(machine.run_command("true", SECONDS, 10), SandboxError)
    await _refused(machine.put("a", _parts(b"x")), SandboxError)
    await _refused(machine.files(), SandboxError)
    await _refused(_content(machine, "a"), SandboxError)


async def _closed_in_a_call(sandbox: Sandbox, machine: Machine) -> None:
    """Closing a machine during a call ends the call, which is `lost`."""
    await machine.run_code("import time", SECONDS)
    call = asyncio.create_task(machine.run_code("time.sleep(1000)", SECONDS))
    await asyncio.sleep(0.1)
    await machine.close()
    _same((await call).ending, "lost")


PROMISES: tuple[Promise, ...] = (
    _probe_prints_nothing,
    _variables_stay,
    _last_value,
    _printed,
    _output_is_cut,
    _files_out,
    _versions,
    _files_in,
    _names,
    _so_many_files,
    _commands,
    _command_over_its_time,
    _code_over_its_time,
    _apart,
    _closed,
    _closed_in_a_call,
)
