"""Runs the processes of a server: starts them, replaces dead ones, and stops them together."""

import mmap
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from antiphon.cli.error_output import complain, text_for_operator
from antiphon.errors import AntiphonError, ConfigError, log

PAUSE = 1.0
"""Seconds before a dead process is replaced, so that one that always dies is not restarted
continuously. They double each time, up to `LONGEST_PAUSE`.
"""

LONGEST_PAUSE = 16.0

STABLE = 60.0
"""Seconds of life after which a process that dies is replaced after `PAUSE` again."""

ENDS = (signal.SIGINT, signal.SIGTERM)

RECEIVED = {*ENDS, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM}
"""Signals that the supervisor waits for. They are blocked at other times, so that they interrupt
nothing.
"""


class ServerMemory:
    """Facts that the processes of one server share. They outlive each process and the store."""

    _HAD_KEYS, _WAS_READY, _HAD_AGENTS = range(3)

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

    @property
    def had_agents(self) -> bool:
        """Whether a process of this server has begun to run agents."""
        return bool(self._flags[self._HAD_AGENTS])

    @had_agents.setter
    def had_agents(self, value: bool) -> None:
        self._flags[self._HAD_AGENTS] = value


@dataclass(eq=False)
class Member:
    """One process of a server."""

    name: str
    run: Callable[[], None]
    """Runs in the process, until a signal ends it."""
    was_ready: Callable[[], bool]
    """Whether this process, or one like it, has ever begun its work."""
    is_last: bool = False
    """Whether it stops after all others."""
    pause: float = PAUSE
    began: float = 0.0

    def next_pause(self) -> float:
        """Return the seconds before it is replaced, now that it has died."""
        pause = PAUSE if time.monotonic() - self.began >= STABLE else self.pause
        self.pause = min(2 * pause, LONGEST_PAUSE)
        return pause


def supervise(members: Sequence[Member], renew: Callable[[], bool]) -> int:
    """Run each member in a process until a signal ends them; return the exit code.

    SIGTERM stops the processes; a dead process is replaced. A process that reports an invalid
    setting (exit code 2) stops all of them, unless it was ready before: then the cause may be
    temporary, such as an unreachable store. They also stop when this process dies. SIGHUP is
    forwarded if `renew()` succeeds; it waits until the member unblocks it. Children that this
    process did not start are reaped: process 1 of a container inherits its orphans.
    """
    return _Supervisor(renew).run(members)


class _Supervisor:
    def __init__(self, renew: Callable[[], bool]) -> None:
        self._renew = renew
        self._running: dict[int, Member] = {}
        self._due: dict[Member, float] = {}
        """Members to replace, with the time."""
        self._ending: int | None = None
        """The signal that ends the server."""
        self._worst = 0
        self._alive, self._lifeline = os.pipe()

    def run(self, members: Sequence[Member]) -> int:
        # Signals wait for `sigwait` and never interrupt: many count as one, and none arrives in the
        # middle of work.
        signal.signal(signal.SIGCHLD, lambda *_: None)  # the parent process may have had it ignored
        signal.pthread_sigmask(signal.SIG_BLOCK, RECEIVED)
        for member in members:
            self._start(member)
        self._reap()
        while self._running or self._due:
            self._handle(signal.sigwait(RECEIVED))
        return self._worst

    def _handle(self, received: int) -> None:
        if received in ENDS:
            self._end(received)
        elif received == signal.SIGHUP:
            if self._ending is None and self._renew():
                self._pass_on(received, self._running)
        elif received == signal.SIGALRM:
            self._start_due()
        else:
            self._reap()

    def _reap(self) -> None:
        for pid, code in _ended_children():
            if pid in self._running:
                self._replace(self._running.pop(pid), code)
        if self._ending is not None and all(one.is_last for one in self._running.values()):
            self._pass_on(self._ending, self._running)

    def _replace(self, member: Member, code: int) -> None:
        if self._ending is not None:
            # A process that received the signal before it had a handler was killed by it.
            self._worst = max(self._worst, 0 if -code in ENDS else abs(code))
        elif code == 2 and not member.was_ready():
            self._worst = code
            self._end(signal.SIGTERM)
        else:
            pause = member.next_pause()
            log.error("%s %s and is being replaced in %g s.", member.name, _end_of(code), pause)
            self._due[member] = time.monotonic() + pause
            self._await_due()

    def _await_due(self) -> None:
        """Let SIGALRM arrive when the next member is to be replaced."""
        if self._due:
            left = min(self._due.values()) - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))

    def _start_due(self) -> None:
        now = time.monotonic()
        for member in [one for one, time_of_start in self._due.items() if time_of_start <= now]:
            del self._due[member]
            self._start(member)
        self._await_due()

    def _start(self, member: Member) -> None:
        member.began = time.monotonic()
        pid = os.fork()
        if not pid:
            os._exit(self._be_process(member))
        self._running[pid] = member

    def _be_process(self, member: Member) -> int:
        os.setpgid(0, 0)  # Ctrl-C reaches the first process only, which forwards it
        os.close(self._lifeline)
        for name in (*ENDS, signal.SIGCHLD):
            signal.signal(name, signal.SIG_DFL)
        # SIGHUP waits until the new process can read its settings again.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, RECEIVED - {signal.SIGHUP})
        threading.Thread(target=self._end_with_supervisor, daemon=True).start()
        try:
            member.run()
        except AntiphonError as error:
            complain(text_for_operator(error))
            return 2 if isinstance(error, ConfigError) else 1
        except BaseException as error:
            log.critical("%s failed", member.name, exc_info=error)
            return 1
        return 0

    def _end(self, received: int) -> None:
        """Stop the members; those that are last when no other is left, or at a second signal."""
        is_again, self._ending = self._ending is not None, received
        self._due.clear()
        first = {pid: one for pid, one in self._running.items() if not one.is_last}
        self._pass_on(received, self._running if is_again else first or self._running)

    def _pass_on(self, name: int, members: dict[int, Member]) -> None:
        for pid in members:
            os.kill(pid, name)

    def _end_with_supervisor(self) -> None:
        os.read(self._alive, 1)  # returns when the supervisor has ended
        os.kill(os.getpid(), signal.SIGTERM)


def _end_of(code: int) -> str:
    """Return how a process ended, by its exit code; a negative one is that of a signal."""
    return (
        f"was killed by {signal.Signals(-code).name}"
        if code < 0
        else f"ended with exit code {code}"
    )


def _ended_children() -> Iterator[tuple[int, int]]:
    """Yield each child that has ended, with its exit code: one signal can announce several."""
    with suppress(ChildProcessError):  # no child is left
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            yield pid, os.waitstatus_to_exitcode(status)
