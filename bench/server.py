"""The programs that are measured, and the backend behind them, each a process of its own."""

import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.agents.history import SEAL_KEYS
from bench.ports import free_port
from bench.process import Program, line, running, wait_until


@dataclass(slots=True)
class RunningServer:
    """Something that listens: its port, its process, and the seconds from its start to its first
    answer.
    """

    port: int
    pid: int
    started_in: float = 0.0


@contextmanager
def antiphon(
    backend: int, folder: Path, store: str, names: int = 1, *, python: str = sys.executable
) -> Iterator[RunningServer]:
    """Run `antiphon serve` before the backend at this port, with a store at this URL.

    With more `names` than one it takes the backend for so many, with slots and a queue each.
    """
    port = free_port()
    command = [python, "-m", "antiphon", "serve", "--port", str(port)]
    command += ["--store", store]
    url = f"http://127.0.0.1:{backend}/v1"
    if names == 1:
        command += ["--backend", url]
    else:
        tables = (
            f'[[backends]]\nname = "b{i}"\nurl = "{url}"\nconcurrency = 64\n' for i in range(names)
        )
        settings = folder / f"bench-{names}.toml"
        settings.write_text("".join(tables))
        command += ["--config", str(settings)]
    # In an empty folder and without its variables, so that nobody's configuration is measured. Its
    # bytecode is kept, as it is where the package was installed: else each start would compile
    # everything.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("ANTIPHON_")
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["ANTIPHON_SEAL_KEYS"] = (
        SEAL_KEYS  # it opens the reasoning that the bench sends back to it
    )
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)  # another Antiphon than this checkout's
    began = time.perf_counter()
    with running(command, environment, folder) as program:
        wait_for_answer(port, "/healthz", program)
        yield RunningServer(port, program.pid, time.perf_counter() - began)


@contextmanager
def module(name: str, *arguments: str) -> Iterator[RunningServer]:
    """Run a program of this folder that prints its port."""
    with running([sys.executable, "-m", name, *arguments]) as program:
        yield RunningServer(int(line(program)), program.pid)


def wait_for_answer(port: int, path: str, program: Program, seconds: float = 30.0) -> None:
    """Return when a GET is answered, whatever the answer."""

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    wait_until(answers, program, seconds)
