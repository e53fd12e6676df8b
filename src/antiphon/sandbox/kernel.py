"""The program inside a machine: reads one call from its socket, runs it, writes one reply; repeats
until the end.

Runs with the operator's Python and its standard library only; `CapturedOutput` is used by the
server, too. The first argument is a JSON object: `data` (directory), `shared` (other directories
that the server monitors), `limits` (of `resource`), `nice`, `startup` (a program to run first),
`output` (bytes of one text), `figures` (bytes of all images).

Theory of operation.

This process protects nothing. The code of the model runs in it, with the same rights, and can
change every function and variable here. What must hold against the code is enforced from outside:
by bubblewrap and the seccomp filter (`arguments.py`, `seccomp.py`), and by the server, which checks
size, nonce and types of each reply (`channel.py`). This program only has to be useful to code that
means well, and to survive code that fails.

Its start has an order, because each step removes something that code must not have:

1. Run `startup`, then set the resource limits, also for the first process of the machine: no code
   has run yet.
2. Send the server the open directories and the first process. So the server reads files and ends
   the machine by what it holds open, and never by a path or a number that code can change.
3. Close all other files, which the server's process may have passed on by mistake. Then the first
   call is read.

Calls are JSON lines: `{nonce, code}` or `{nonce, command, seconds, output}`. There is one at a
time, and one reply to each, with its nonce. The server stops all processes of the machine between
two calls, so nothing runs unobserved.

- Code runs as in a notebook: one namespace for all calls, the value of the last expression, `await`
  at the top level, figures, lines after `!` and `%`. It cannot be interrupted safely, so at its
  time limit the server ends the machine.
- A command runs in a process group of its own, so its time limit ends the command alone, and
  variables survive.

What holds, as long as code does not intend otherwise:

- Every call has one reply. All exceptions of code are caught, also `SystemExit`. A child that the
  code forked ends here, since its reply would be a second one.
- Printed output goes to the pipe of standard output and standard error, which the server reads
  directly. It is flushed before the reply is sent, so that a reply means that all output is in the
  pipe.
- No output grows without a limit in memory: `CapturedOutput` has the first and the last bytes, and
  `KernelFigures` a number of bytes.
- Few modules are loaded, because every machine pays for them.
"""

import _socket
import ast
import binascii
import contextlib
import importlib.machinery
import io
import json
import linecache
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
import traceback
import types
import warnings
from typing import Any

PART = 65536
MOST_FILES = 65536
"""Files that the server's process may have had open when it started the machine."""
GROUPED: Any = {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}
"""Start a process in a group of its own. A session is refused to code, since it is a scheduling
group.
"""
STEP = 0.05
"""Seconds between two reads from a command with endless output."""


class CapturedOutput:
    """The first and the last bytes of an output, at most `limit`; a note says how many are missing
    between them.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head, self._tail, self._lost = bytearray(), bytearray(), 0

    @property
    def is_full(self) -> bool:
        """Whether more output replaces earlier output."""
        return len(self._head) == self._half and len(self._tail) >= self._half

    def add(self, part: bytes) -> None:
        """Keep a part of the output, as far as there is room."""
        room = self._half - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        if len(self._tail) > 2 * self._half:
            self._trim()

    def text(self) -> str:
        """Return the collected output."""
        self._trim()
        parts = [bytes(self._head), bytes(self._tail)]
        if not self._lost:
            return b"".join(parts).decode(errors="replace")
        return f"\n[… {self._lost} bytes omitted …]\n".join(
            part.decode(errors="replace") for part in parts
        )

    def _trim(self) -> None:
        excess = max(len(self._tail) - self._half, 0)
        self._lost += excess
        del self._tail[:excess]


def _silence_fonts() -> None:
    """Omit what matplotlib prints if its list of fonts takes longer than 5 s, on a busy host. Each
    machine makes the list again, and the output of the code would have the note.
    """
    import logging  # noqa: PLC0415 - matplotlib imports it as well

    logging.getLogger("matplotlib.font_manager").addFilter(
        lambda record: "building the font cache" not in str(record.msg)
    )


class KernelFigures:
    """The matplotlib figures that the code shows, or leaves open at its end, as PNG."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._images: list[bytes] = []
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Import `matplotlib.pyplot` as usual, with a `show` that draws and closes the figures, as
        notebooks do.
        """
        if name != "matplotlib.pyplot":
            return None
        _silence_fonts()
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                load(module)
                module.show = lambda *_, **__: self._draw()  # type: ignore[attr-defined]

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def display(self, *objects: Any) -> None:
        """Show objects, like the function `display` of notebooks."""
        for each in objects:
            if hasattr(each, "savefig"):
                self._add(each)
                sys.modules["matplotlib.pyplot"].close(each)
            else:
                print(repr(each))  # noqa: T201 - this is the output

    def drain(self) -> list[str]:
        """Return the figures since the last time, in base64."""
        try:
            self._draw()
        finally:
            images = self._images
            self._images = []
        return [binascii.b2a_base64(image, newline=False).decode() for image in images]

    def _draw(self) -> None:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        try:
            for number in pyplot.get_fignums():
                self._add(pyplot.figure(number))
        finally:
            pyplot.close("all")

    def _add(self, figure: Any) -> None:
        image = io.BytesIO()
        figure.savefig(image, format="png", bbox_inches="tight")
        if sum(map(len, self._images)) + image.tell() <= self._most:
            self._images.append(image.getvalue())


class Kernel:
    """Runs calls, with one namespace for all code."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._data: str = options["data"]
        self._output: int = options["output"]
        self._figures = KernelFigures(options["figures"])
        self._main = types.ModuleType("__main__")
        self._main.__dict__["display"] = self._figures.display
        self._cells = 0
        sys.modules["__main__"] = self._main

    def run(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one call."""
        reply = self.code(call["code"]) if "code" in call else self.command(**call)
        return {**reply, "nonce": call["nonce"]}

    def code(self, code: str) -> dict[str, Any]:
        """Run Python code: its printed output is in the pipe when this returns."""
        process = os.getpid()
        value = None
        figures = []
        try:
            value = self._executed(code)
        except BaseException as error:
            report(error)
        if os.getpid() != process:  # the code forked, and this is the child
            flush()
            os._exit(0)
        try:
            figures = self._figures.drain()
        except BaseException as error:
            report(error)
        text = "" if value is None else self._displayed(value)
        flush()
        return {"value": text, "figures": figures}

    def _executed(self, code: str) -> Any:
        """Run the code, and return the value of its last expression."""
        self._cells += 1
        name = f"<cell {self._cells}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = parsed(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._evaluate(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
        if not isinstance(last, ast.Expr):
            return None
        value = self._evaluate(
            compile(ast.Expression(last.value), name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        )
        return None if code.rstrip().endswith(";") else value

    def _evaluate(self, compiled: types.CodeType) -> Any:
        value = eval(compiled, self._main.__dict__)  # noqa: S307 - this is what the sandbox is for
        if not compiled.co_flags & 0x80:  # no top-level `await`
            return value
        import asyncio  # noqa: PLC0415 - most code does not need it

        return asyncio.run(value)

    def _displayed(self, value: Any) -> str:
        try:
            stored = CapturedOutput(self._output)
            stored.add(repr(value).encode(errors="replace"))
            return stored.text()
        except BaseException as error:
            report(error)
            return ""

    def command(self, nonce: str, command: str, seconds: float, output: int) -> dict[str, Any]:
        """Run a shell command in a separate process group, which ends as a whole at the time
        limit.
        """
        try:
            process = subprocess.Popen(  # noqa: S602 - this is what the sandbox is for
                command,
                shell=True,
                cwd=self._data,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **GROUPED,
            )
        except (
            OSError,
            ValueError,
            MemoryError,
        ) as error:  # too many processes, a NUL byte, too little memory
            return {"stdout": "", "stderr": f"sh: {error}\n", "exit_code": 126, "timed_out": False}
        # Both pipes are read together: a command that fills one while the other is read
        # would wait forever.
        with process:
            assert process.stdout is not None and process.stderr is not None  # noqa: S101 - both are pipes
            stored = {
                process.stdout.fileno(): CapturedOutput(output),
                process.stderr.fileno(): CapturedOutput(output),
            }
            timed_out = collect(process, stored, time.monotonic() + seconds)
            if timed_out:
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        stdout, stderr = (each.text() for each in stored.values())
        exit_code = None if timed_out else code if code >= 0 else 128 - code
        return {"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "timed_out": timed_out}


def parsed(code: str, name: str) -> ast.Module:
    """Parse code with the additions of notebooks: shell lines after `!`; lines after `%` do
    nothing.
    """
    try:
        return ast.parse(code, name)
    except SyntaxError:
        lines = code.split("\n")
        if not any(line.lstrip().startswith(("!", "%")) for line in lines):
            raise
    return ast.parse("\n".join(map(python_of, lines)), name)


def python_of(line: str) -> str:
    """Return the Python of a line of a notebook."""
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    if text.startswith("!"):
        return f"{indent}_ = __import__('os').system({text[1:]!r})"
    return f"{indent}pass" if text.startswith("%") else line


def collect(
    process: "subprocess.Popen[bytes]", stored: dict[int, CapturedOutput], ends: float
) -> bool:
    """Read the output of a command until it ends. Returns whether it timed out.

    Its background processes can hold the pipes open: then the output ends with the command.
    """
    # Pipes that are ready are read in turn, so endless output does not hide the time limit.
    poller = select.poll()
    is_open = set(stored)
    for pipe in stored:
        poller.register(pipe, select.POLLIN)
    while time.monotonic() < ends:
        # In this order: what the command wrote before its end is in the pipes once it has ended.
        has_ended = process.poll() is not None
        ready = poller.poll(0 if has_ended else STEP * 1000) if is_open else []
        if has_ended and not ready:
            return False
        for pipe, _ in ready:
            part = os.read(pipe, PART)
            stored[pipe].add(part)
            if not part:
                poller.unregister(pipe)
                is_open.discard(pipe)
        # Without output left, only the end of the command is awaited.
        if not is_open:
            try:
                process.wait(max(ends - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                return True
            return False
    return True


def report(error: BaseException) -> None:
    """Print the traceback of an exception, without the frames of this file."""
    flush()
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, ast.__file__):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:
        text = f"{type(error).__name__}\n"  # its own methods fail, or memory is exhausted
    content = memoryview(text.encode(errors="replace"))
    with contextlib.suppress(OSError):  # the code closed it
        while content:
            content = content[os.write(2, content) :]


def flush() -> None:
    """Flush Python's buffers. The code may have replaced the streams by anything."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__):
        with contextlib.suppress(BaseException):
            stream.flush()  # type: ignore[union-attr]


def limit(options: dict[str, Any]) -> None:
    """Limit the resources of this process and its children. The code cannot undo it."""
    with contextlib.suppress(OSError):  # the server may lack the permission, and so do its machines
        os.nice(options["nice"])
    for name, amount in options["limits"].items():
        for process in (os.getpid(), 1):
            # Code can write to the memory of the first process, unless root started it;
            # this prevents that.
            with contextlib.suppress(PermissionError):
                resource.prlimit(process, getattr(resource, name), (amount, amount))


def connect(options: dict[str, Any]) -> int:
    """Send the server the directories that it reads, and the first process.

    Returns the socket, once standard input.
    """
    channel = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    shared = [
        os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        for path in (options["data"], *options["shared"])
    ]
    shared.append(os.pidfd_open(1))
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack(f"{len(shared)}i", *shared))
    connection = _socket.socket(fileno=channel)
    connection.sendmsg([b"\n"], [rights])
    connection.detach()
    for each in shared:
        os.close(each)
    return channel


def serve(channel: int, kernel: Kernel) -> None:
    """Answer calls until the server closes the socket."""
    calls = os.fdopen(channel, "rb", closefd=False)
    for line in calls:
        reply = memoryview(json.dumps(kernel.run(json.loads(line))).encode() + b"\n")
        while reply:
            reply = reply[os.write(channel, reply) :]


def main() -> None:
    """Run as the module describes."""
    options = json.loads(sys.argv[1])
    sys.argv = [""]
    os.chdir(options["data"])
    sys.path.append(
        options["data"]
    )  # at the end, so that no file of the code replaces a library module
    sys.stdout.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
    warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")
    with open(options["startup"], encoding="utf-8") as file:  # noqa: PTH123 - pathlib would take memory
        exec(compile(file.read(), options["startup"], "exec"), {"__name__": "startup"})  # noqa: S102 - a part of this
    limit(options)
    channel = connect(options)
    os.closerange(channel + 1, MOST_FILES)  # files that the server's process passed on by mistake
    serve(channel, Kernel(options))


if __name__ == "__main__":
    main()
