"""An event loop in which several simulated processes run, without threads, sockets or real time.

Theory of operation.

Each callback belongs to the simulated process in whose context it was scheduled. A step of the
loop chooses a process that can run, then one of its strands, by the seed, and runs the oldest
callback of the strand. A strand is a task; the callbacks of a process that belong to no task are
one strand more. So the order within a task is asyncio's, and the order of tasks is any. Time
stands still while any process can run, and otherwise advances to the next timer.

Nothing depends on the addresses of objects or on the hash seed: the strands that can run are in
the order of the creation of their tasks before one is chosen, so the order in which code that
iterates over a set wakes tasks does not matter.

A process that is killed runs no further callback: not even the `finally` blocks of its tasks,
because the tasks are kept (`retained`) until the Python process ends. One that is paused runs none
until it is resumed, while its timers expire.
"""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from hashlib import blake2b
from struct import Struct
from typing import Any, TypeVar

from simulation.machine import EPOCH

T = TypeVar("T")

_STEP = Struct("dII")

retained: list[object] = []
"""Tasks of killed processes."""

START = 1000.0
"""The monotonic clock when a simulation begins."""

STALL_CHANCE = 0.001
"""The chance that a process is busy after a callback, for up to `LONGEST_STALL` seconds."""

LONGEST_STALL = 0.4

EXECUTOR_LATENCY = 0.02
"""The longest time of a function in a thread, in seconds."""

MOST_CANCELLED = 200
"""Cancelled timers from which on they are removed from the heap."""


class Stuck(Exception):  # noqa: N818 - not an error of this code: it is what a simulation can find
    """No callback can ever run again."""


class SimulatedTask(asyncio.Task[Any]):
    """A task that knows its process, and the number of tasks that were created before it."""

    process: "Process"
    serial: int
    began: float


class Process:
    """A simulated process: `number` orders processes, `skew` is how far its wall clock is ahead."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.skew = 0.0
        self.is_dead = False
        self.resumes_at = 0.0
        self.strands: dict[int, deque[asyncio.Handle]] = {}


_process: ContextVar[Process | None] = ContextVar("process", default=None)


class SimulatedLoop(asyncio.BaseEventLoop):
    """See the module's docstring. `dice` draws the order, `is_fair` keeps asyncio's order within a
    process.
    """

    def __init__(self, dice: random.Random, *, is_fair: bool = False) -> None:
        super().__init__()
        self.world = Process("world", 0)
        self.current = self.world
        self.steps = 0
        self._dice = dice
        self._is_fair = is_fair
        self._now = START
        self._timer_cancelled_count = 0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timer_count = 0
        self._serial = 0
        self._processes: list[Process] = [self.world]
        self._digest = blake2b(digest_size=16)
        self.trace: list[str] | None = None
        self.after_step: Callable[[], None] | None = None
        self.connect: Callable[..., Coroutine[Any, Any, Any]]
        """Opens a connection to a simulated host."""
        self.set_task_factory(self._make_task)

    # Clocks.

    def time(self) -> float:
        return self._now

    def monotonic(self) -> float:
        """Return the time of the monotonic clock."""
        return self._now

    def wall(self) -> float:
        """Return the time of the running process's wall clock."""
        return EPOCH + self._now - START + self.current.skew

    @property
    def digest(self) -> str:
        """A digest of every step so far."""
        return self._digest.hexdigest()

    # Processes.

    def new_process(self, name: str) -> Process:
        """Return a new process."""
        process = Process(name, len(self._processes))
        self._processes.append(process)
        return process

    def kill(self, process: Process) -> None:
        """End a process between two callbacks."""
        process.is_dead = True
        process.strands.clear()
        retained.extend(self.tasks_of(process))

    def tasks_of(self, process: Process) -> list[SimulatedTask]:
        """Return the tasks of a process that have not ended, the oldest first."""
        found = [one for one in asyncio.all_tasks(self) if isinstance(one, SimulatedTask)]
        return sorted(
            (one for one in found if one.process is process), key=lambda task: task.serial
        )

    def run_in(self, process: Process, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of a process."""
        context = copy_context()
        context.run(_process.set, process)
        return self.create_task(coroutine, context=context)

    def context_of(self, process: Process) -> Context:
        """Return a context in which callbacks belong to a process."""
        context = Context()
        context.run(_process.set, process)
        return context

    @property
    def here(self) -> Process:
        """The process to which the running code belongs."""
        return _process.get() or self.world

    # asyncio.

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coro: Any, context: Context | None = None
    ) -> SimulatedTask:
        process = (_process.get() if context is None else context.get(_process)) or self.world
        task = SimulatedTask.__new__(SimulatedTask)
        self._serial += 1
        task.process = process
        task.serial = self._serial
        task.began = self._now
        task.__init__(coro, loop=loop, context=context)  # type: ignore[misc]  # it schedules itself
        return task

    def _call_soon(
        self, callback: Callable[..., object], args: Any, context: Context | None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._make_ready(handle)
        return handle

    def call_at(  # type: ignore[override]  # a simpler type
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Schedule a callback. Numbered pairs are compared faster than handles."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timer_count += 1
        heapq.heappush(self._timers, (when, self._timer_count, timer))
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_soon_threadsafe(  # type: ignore[override]  # a simpler type
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]  # a simpler type
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """Run the function in a callback of its own, some time later."""
        future = self.create_future()

        def run() -> None:
            try:
                result = func(*args)
            except BaseException as error:
                if not future.done():
                    future.set_exception(error)
                return
            if not future.done():
                future.set_result(result)

        self.call_later(self._dice.random() * EXECUTOR_LATENCY, run)
        return future

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, **_: Any
    ) -> Any:
        return await self.connect(protocol_factory, host)

    def _make_ready(self, handle: asyncio.Handle) -> None:
        owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
        if isinstance(owner, SimulatedTask):
            process, strand = owner.process, owner.serial
        else:
            process = handle._context.get(_process) or self.world  # type: ignore[attr-defined]
            strand = 0
        if process.is_dead:
            retained.append(handle)
            return
        if self._is_fair:
            strand = 0
        ready = process.strands.get(strand)
        if ready is None:
            process.strands[strand] = deque((handle,))
        else:
            ready.append(handle)

    def _run_once(self) -> None:
        process = self._choose_process()
        while process is None:
            self._advance()
            process = self._choose_process()
        strand = self._choose_strand(process)
        ready = process.strands[strand]
        handle = ready.popleft()
        if not ready:
            del process.strands[strand]
        if handle._cancelled:
            return
        self.steps += 1
        self._note(process, strand)
        self.current = process
        handle._run()
        self.current = self.world
        if process.number and self._dice.random() < STALL_CHANCE:
            process.resumes_at = max(
                process.resumes_at, self._now + self._dice.random() * LONGEST_STALL
            )
        if self.after_step is not None:
            self.after_step()

    def _choose_process(self) -> Process | None:
        able = [one for one in self._processes if one.strands and one.resumes_at <= self._now]
        if not able:
            return None
        return able[0] if len(able) == 1 else self._dice.choice(able)

    def _choose_strand(self, process: Process) -> int:
        strands = process.strands
        if len(strands) == 1:
            return next(iter(strands))
        return self._dice.choice(sorted(strands))

    def _advance(self) -> None:
        """Let time pass until something can run."""
        timers = self._timers
        if self._timer_cancelled_count > MOST_CANCELLED:
            timers[:] = [one for one in timers if not one[2]._cancelled]
            heapq.heapify(timers)
            self._timer_cancelled_count = 0
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        paused = [one.resumes_at for one in self._processes if one.strands]
        if not timers and not paused:
            raise Stuck("no process has anything left to do")
        self._now = min([*([timers[0][0]] if timers else []), *paused])
        while timers and timers[0][0] <= self._now:
            timer = heapq.heappop(timers)[2]
            timer._scheduled = False  # type: ignore[attr-defined]
            if not timer._cancelled:
                self._make_ready(timer)

    def _note(self, process: Process, strand: int) -> None:
        self._digest.update(_STEP.pack(self._now, process.number, strand))

    def note(self, text: str) -> None:
        """Write a line into the trace, if there is one."""
        if self.trace is not None:
            self.trace.append(f"{self._now - START:8.3f} s  {self.here.name:6} {text}")

    # What a loop with a selector does with threads and sockets.

    def _write_to_self(self) -> None:
        pass

    def _process_events(self, event_list: object) -> None:
        pass
