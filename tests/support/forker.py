"""A program that has loaded the command `antiphon`, and forks processes that run it: see
`forked.py`.

It speaks JSON on the socket whose descriptor is its argument. `{"arguments", "folder",
"environment"}` with the descriptors of standard input, output and error starts a process and is
answered with its id; `{"ended": ID}` is answered with the exit code of a process that has ended. It
ends when the socket is closed.
"""

import gc
import json
import os
import runpy
import signal
import socket
import sys
import time
from importlib import import_module
from typing import Any

LOADED = (
    "uvloop",
    "antiphon.cli.error_output",
    "antiphon.cli.logs",
    "antiphon.cli.main",
    "antiphon.cli.quick",
    "antiphon.cli.serve",
    "antiphon.storage.postgres.store",
    "antiphon.tools.mcp.session",
)
"""What every server loads, and what takes long. The rest a process loads itself."""

LONGEST = 1_000_000
"""Bytes of a request."""


def main(descriptor: int) -> None:
    """Answer until the socket is closed.

    Only in a process that was forked this returns to run the command.
    """
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the tests, which then close the socket
    for name in LOADED:
        import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would copy what it shares with this process
    with socket.socket(fileno=descriptor) as requested:
        while True:
            message, files, _, _ = socket.recv_fds(requested, LONGEST, 3)
            if not message:
                return
            request = json.loads(message)
            if "ended" in request:
                _, status = os.waitpid(request["ended"], 0)
                requested.send(str(os.waitstatus_to_exitcode(status)).encode())
                continue
            pid = os.fork()
            if not pid:
                break
            for file in files:
                os.close(file)
            requested.send(str(pid).encode())
    become(request, files)


def become(request: dict[str, Any], files: list[int]) -> None:
    """Be the process that was asked for, as if it had just been started."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[0] = request["folder"]
    sys.argv[:] = ["antiphon", *request["arguments"]]
    runpy.run_module("antiphon", run_name="__main__")


if __name__ == "__main__":
    main(int(sys.argv[1]))
