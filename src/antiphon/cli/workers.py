"""Runs several processes that serve one port: starts them, replaces dead ones, and stops them
together.
"""

import mmap
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from antiphon.cli.error_output import complain, text_for_operator
from antiphon.errors import AntiphonError, ConfigError, log

PAUSE = 1.0
"""Seconds before a dead process is replaced, so that one that always dies is not restarted
continuously.
"""

ENDS = (signal.SIGINT, signal.SIGTERM)

RECEIVED = {*ENDS, signal.SIGHUP, signal.SIGCHLD}
"""Signals that the supervisor waits for. They are blocked at other times, so that they interrupt
nothing.
"""


class ServerMemory:
    """Facts that the processes of one server share. They outlive each process and the store."""

    _HAD_KEYS, _WAS_READY = range(2)

    def __init__(self) -> None:
        self._flags = mmap.mmap(-1, mmap.PAGESIZE)  # anonymous and shared between forks

    @property
    def had_keys(self) -> bool:
        """Whether API keys ever existed, see `KeyMemory`."""
        return bool(self._flags[self._HAD_KEYS])

    @had_keys.setter
    def had_keys(self, value: bool) -> None:
        self._flags[self._HAD_KEYS] = value

    @property
    def was_ready(self) -> bool:
        """Whether a process of this server has begun to serve."""
        return bool(self._flags[self._WAS_READY])

    @was_ready.setter
    def was_ready(self, value: bool) -> None:
        self._flags[self._WAS_READY] = value


def supervise(
    count: int, serve: Callable[[int], None], renew: Callable[[], bool], memory: ServerMemory
) -> int:
    """Run `serve(number)` in `count` processes until a signal ends them; return the exit code.

    SIGTERM stops the processes; a dead process is replaced. A process that reports an invalid
    setting (exit code 2) stops all of them, unless the server has been ready: then the cause may be
    temporary, such as an unreachable store. They also stop when this process dies. SIGHUP is
    forwarded if `renew()` succeeds; it waits until `serve` unblocks it. Children that this process
    did not start are reaped: process 1 of a container inherits its orphans.
    """
    return _Supervisor(serve, renew, memory).run(count)


class _Supervisor:
    def __init__(
        self, serve: Callable[[int], None], renew: Callable[[], bool], memory: ServerMemory
    ) -> None:
        self._serve = serve
        self._renew = renew
        self._memory = memory
        self._numbers: dict[int, int] = {}
        self._is_ending = False
        self._worst = 0
        self._alive, self._lifeline = os.pipe()

    def run(self, count: int) -> int:
        # Signals wait for `sigwait` and never interrupt: many count as one, and none arrives in the
        # middle of work.
        signal.signal(signal.SIGCHLD, lambda *_: None)  # the parent process may have had it ignored
        signal.pthread_sigmask(signal.SIG_BLOCK, RECEIVED)
        for number in range(count):
            self._start(number)
        self._reap()
        while self._numbers:
            self._handle(signal.sigwait(RECEIVED))
        return self._worst

    def _handle(self, received: int) -> None:
        if received in ENDS:
            self._end(received)
        elif received == signal.SIGHUP:
            if not self._is_ending and self._renew():
                self._pass_on(received)
        else:
            self._reap()

    def _reap(self) -> None:
        for pid, code in _ended_children():
            if pid in self._numbers:
                self._replace(self._numbers.pop(pid), code)

    def _replace(self, number: int, code: int) -> None:
        if self._is_ending:
            # A process that received the signal before it had a handler was killed by it.
            self._worst = max(self._worst, 0 if -code in ENDS else abs(code))
        elif code == 2 and not self._memory.was_ready:
            self._worst = code
            self._end(signal.SIGTERM)
        else:
            log.error("Worker %d ended with exit code %d and is being replaced.", number, code)
            time.sleep(PAUSE)
            if not signal.sigpending() & set(ENDS):
                self._start(number)

    def _start(self, number: int) -> None:
        pid = os.fork()
        if not pid:
            os._exit(self._be_worker(number))
        self._numbers[pid] = number

    def _be_worker(self, number: int) -> int:
        os.setpgid(0, 0)  # Ctrl-C reaches the first process only, which forwards it
        os.close(self._lifeline)
        for name in (*ENDS, signal.SIGCHLD):
            signal.signal(name, signal.SIG_DFL)
        # SIGHUP waits until the new process can read its settings again.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, RECEIVED - {signal.SIGHUP})
        threading.Thread(target=self._end_with_supervisor, daemon=True).start()
        try:
            self._serve(number)
        except AntiphonError as error:
            complain(text_for_operator(error))
            return 2 if isinstance(error, ConfigError) else 1
        except BaseException as error:
            log.critical("A worker failed", exc_info=error)
            return 1
        return 0

    def _end(self, name: int) -> None:
        self._is_ending = True
        self._pass_on(name)

    def _pass_on(self, name: int) -> None:
        for pid in self._numbers:
            os.kill(pid, name)

    def _end_with_supervisor(self) -> None:
        os.read(self._alive, 1)  # returns when the supervisor has ended
        os.kill(os.getpid(), signal.SIGTERM)


def _ended_children() -> Iterator[tuple[int, int]]:
    """Yield each child that has ended, with its exit code: one signal can announce several."""
    with suppress(ChildProcessError):  # no child is left
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            yield pid, os.waitstatus_to_exitcode(status)
