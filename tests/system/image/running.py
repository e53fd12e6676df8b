"""Commands and servers in a container, on the network of this machine.

`plain` runs them by `buildah run`: as the user of the image, with the seccomp filter of container
engines. `read_only` runs them without any privilege on a root that cannot be written to; see
container.sh.
"""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.ports import free_port

from tests.support.command import pids_below
from tests.support.programs import PATH
from tests.system.image.engine import BUILDAH, RUN, STORAGE, configuration

USER = 10001
LIFE = 300
"""Seconds after which a command is killed, whatever becomes of the test."""

PATIENCE = 60.0
"""Seconds that a server may take to start or to stop."""


@dataclass(frozen=True)
class Box:
    """A container, its image, and the folder that is its /data."""

    container: str
    image: str
    volume: Path


Runner = Callable[[Box, Mapping[str, str], tuple[str, ...]], list[str]]


def plain(box: Box, variables: Mapping[str, str], command: tuple[str, ...]) -> list[str]:
    """The command line that runs a command as `buildah run` does."""
    provided = (f"--env={name}={value}" for name, value in variables.items())
    return [
        *("unshare", "--mount", *BUILDAH, "run", "--isolation", "chroot"),
        *(f"--volume={box.volume}:/data", *provided, box.container, "--", *command),
    ]


def read_only(box: Box, variables: Mapping[str, str], command: tuple[str, ...]) -> list[str]:
    """The command line that runs a command without privileges on a read-only root."""
    known = dict(one.split("=", 1) for one in configuration(box.image)["Env"])
    provided = (f"{name}={value}" for name, value in {**known, **variables}.items())
    script = Path(__file__).parent / "container.sh"
    return [
        *(
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            str(script),
            str(STORAGE),
            str(RUN),
        ),
        *(box.container, str(box.volume), *provided, *command),
    ]


def run(
    runner: Runner, box: Box, *command: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        runner(box, variables, command),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=_environment(),
    )


@dataclass(frozen=True)
class Server:
    """A server in a container."""

    box: Box
    port: int
    log: Path
    started: float
    """Seconds from the command to the first answer."""
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Send the signal of the image to the server; return the exit code of the container."""
        pid = self.process.pid
        while Path(f"/proc/{pid}/comm").read_text().strip() != "antiphon":
            (pid,) = pids_below(pid)
        os.kill(pid, signal.Signals[configuration(self.box.image)["StopSignal"]])
        return self.process.wait(PATIENCE)


@contextmanager
def serving(runner: Runner, box: Box, *command: str, **variables: str) -> Iterator[Server]:
    """Start the command of the image, or another, on a free port; kill it if the test does not stop
    it.
    """
    port = free_port()
    log = box.volume.parent / "server.log"
    began = time.monotonic()
    line = runner(
        box,
        {"ANTIPHON_PORT": str(port), **variables},
        command or tuple(configuration(box.image)["Cmd"]),
    )
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["timeout", "--kill-after=5", str(LIFE), *line],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(),
        )
    try:
        while not _answers(port):
            assert process.poll() is None, (
                f"The container exited with {process.returncode}:\n{log.read_text()}"
            )
            assert time.monotonic() < began + PATIENCE, (
                f"No server after {PATIENCE:.0f} s:\n{log.read_text()}"
            )
        yield Server(box, port, log, time.monotonic() - began, process)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _answers(port: int) -> bool:
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).status == 200
    except (urllib.error.URLError, ConnectionError):
        return False


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": PATH}
