"""Runs a client in the terminal that it was launched in."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

FORWARDED = {signal.SIGTERM, signal.SIGHUP}
"""Signals that are forwarded to the client."""

FROM_TERMINAL = {signal.SIGINT, signal.SIGQUIT}
"""Signals that a terminal sends to the client too: a second `SIGINT` makes many clients quit at
once.
"""


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a profile: content by path, relative to the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


class Runner:
    """Runs one client, and forwards signals to it that would otherwise end this process."""

    def __init__(self) -> None:
        self._client: subprocess.Popen[bytes] | None = None

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Forward signals to the client until the end of the block.

        Before the client runs, they raise `SystemExit`, so that what was started for the client
        ends too.
        """
        # No signal is ignored: the client would inherit that.
        before = {
            number: signal.signal(number, self._handle) for number in FORWARDED | FROM_TERMINAL
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Run a client with these variables in addition to those of this process; return its exit
        code.

        A client that a signal ended has 128 and the number of the signal, as in a shell.
        """
        self._client = subprocess.Popen(command, env={**os.environ, **environment})  # noqa: S603
        code = self._client.wait()
        return 128 - code if code < 0 else code

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._client is None:
            raise SystemExit(128 + number)
        if number in FORWARDED:
            self._client.send_signal(number)
