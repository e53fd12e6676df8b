"""Several processes that serve one port: started, watched, replaced when they die, and ended together."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from antiphon.errors import AntiphonError, ConfigError, log

PAUSE = 1.0
"""Seconds before a process that died is replaced: one that cannot live is not to be tried a thousand times a second."""


def supervise(count: int, serve: Callable[[int], None], renew: Callable[[], bool]) -> int:
    """Run `serve(number)` in `count` processes until a signal ends them; return the exit code.

    The processes end by SIGTERM, one that died is replaced, and one that says that a setting is wrong ends them all.
    They end too when this process is gone. SIGHUP is passed on where `renew()` finds nothing wrong; it waits until
    `serve` unblocks it.
    """
    return _Supervisor(serve, renew).run(count)


class _Supervisor:
    def __init__(self, serve: Callable[[int], None], renew: Callable[[], bool]) -> None:
        self._serve = serve
        self._renew = renew
        self._numbers: dict[int, int] = {}
        self._is_ending = False
        self._alive, self._lifeline = os.pipe()

    def run(self, count: int) -> int:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._end)
        signal.signal(signal.SIGHUP, self._tell)
        for number in range(count):
            self._start(number)
        worst = 0
        while self._numbers:
            pid, status = os.wait()
            number = self._numbers.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            if self._is_ending:
                # One that was told to end before it could listen to that ends by the signal.
                worst = max(worst, 0 if -code in (signal.SIGTERM, signal.SIGINT) else abs(code))
            elif code == 2:
                worst = code
                self._end(signal.SIGTERM, None)
            else:
                log.error("Worker %d ended with code %d; another takes its place.", number, code)
                time.sleep(PAUSE)
                if not self._is_ending:
                    self._start(number)
        return worst

    def _start(self, number: int) -> None:
        # What comes from here on waits, in the new process until it can read its settings again.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        pid = os.fork()
        if not pid:
            os._exit(self._be_worker(number))
        self._numbers[pid] = number
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    def _be_worker(self, number: int) -> int:
        os.setpgid(0, 0)  # Ctrl-C reaches the first process alone, which passes it on
        os.close(self._lifeline)
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_DFL)
        threading.Thread(target=self._end_with_supervisor, daemon=True).start()
        try:
            self._serve(number)
        except AntiphonError as error:
            print(f"antiphon: {error.message}", file=sys.stderr, flush=True)  # noqa: T201 - as the command says it
            return 2 if isinstance(error, ConfigError) else 1
        except BaseException as error:
            log.critical("A worker broke down", exc_info=error)
            return 1
        return 0

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._is_ending = True
        for pid in self._numbers:
            os.kill(pid, number)

    def _tell(self, number: int, frame: FrameType | None) -> None:
        if not self._renew():
            return
        for pid in self._numbers:
            os.kill(pid, number)

    def _end_with_supervisor(self) -> None:
        os.read(self._alive, 1)  # ends when nobody can write any more
        os.kill(os.getpid(), signal.SIGTERM)
