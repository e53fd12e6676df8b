"""The context of a handler for code in threads: the same methods, each of which blocks.

A method runs as a task of the worker's event loop, with the context variables of its thread, so
that scopes hold there too. What the task changes of them is taken over by the thread.
"""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import Context, copy_context
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from antiphon.agents.approvals import Approval
from antiphon.agents.emitted_items import Emit
from antiphon.agents.errors import over
from antiphon.agents.keys import Scope, current, entered, here
from antiphon.agents.output import MessageWriter
from antiphon.agents.tools import ToolResult
from antiphon.protocol.items.content import Item
from antiphon.protocol.response import Response
from antiphon.protocol.tools import Tool

T = TypeVar("T")


class ThreadCalls:
    """The calls of an attempt's threads that are in progress."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False
        self._process = os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the event loop, and wait for it in this thread.

        Raises `RuntimeError` in the thread of the event loop, and after the end of the attempt.
        """
        try:
            self._check()
        except RuntimeError:
            coroutine.close()
            raise
        context = copy_context()
        done: Future[T] = Future()
        self._loop.call_soon_threadsafe(self._start, coroutine, context, done)
        try:
            return done.result()
        except CancelledError:
            raise over() from None
        finally:
            _take_over(context)

    def close(self) -> None:
        """End all calls: each raises `RuntimeError` in its thread, as every later one does."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()

    def _check(self) -> None:
        if self._is_over:
            raise over()
        if os.getpid() != self._process:
            raise RuntimeError("The context cannot be used in a process that was forked.")
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            return
        if running is self._loop:
            raise RuntimeError(
                "ctx.sync blocks, so it cannot be used in the thread of the event loop. Await the "
                "method of ctx, or call the function in a thread: await asyncio.to_thread(...)."
            )

    def _start(self, coroutine: Coroutine[Any, Any, T], context: Context, done: Future[T]) -> None:
        task = self._loop.create_task(coroutine, context=context)
        self._tasks.add(task)
        task.add_done_callback(lambda ended: self._end(ended, done))
        if self._is_over:
            task.cancel()

    def _end(self, task: "asyncio.Task[T]", done: Future[T]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            done.cancel()
        elif (error := task.exception()) is not None:
            done.set_exception(error)
        else:
            done.set_result(task.result())


def _take_over(context: Context) -> None:
    """Set the context variables of this thread as a task has left them."""
    for variable, value in context.items():
        if variable.get(None) is not value:
            variable.set(value)


class SyncMessageWriter:
    """Writes one message or one reasoning item while it is open, from a thread."""

    def __init__(self, calls: ThreadCalls, writer: MessageWriter) -> None:
        self._calls = calls
        self._writer = writer

    def write(self, delta: str) -> None:
        """See `MessageWriter.write`."""
        self._calls.run(self._writer.write(delta))

    def cite(self, annotation: dict[str, Any]) -> None:
        """See `MessageWriter.cite`."""
        self._calls.run(self._writer.cite(annotation))


class SyncContext:
    """The methods of `AgentContext` for a thread, in which they block until they have ended.

    A step's plain function and `asyncio.to_thread` have the scope of their caller; another thread
    has the scope in which `ctx.sync` was read. A thread cannot be cancelled: if the response ends
    before it, the next method raises `RuntimeError`.
    """

    # `ctx` is the `AgentContext` that creates this object: its module imports this one.
    def __init__(self, ctx: Any, calls: ThreadCalls, scope: Scope) -> None:
        self._ctx = ctx
        self._calls = calls
        self._scope = scope

    def step(
        self,
        name: str,
        function: Callable[..., Any],
        *args: Any,
        once: bool = False,
        retries: int = 0,
        timeout: float | None = None,
        show: bool | Approval = False,
    ) -> Any:
        """See `AgentContext.step`."""
        options: dict[str, Any] = {"once": once, "retries": retries}
        return self._run(
            lambda: self._ctx.step(name, function, *args, **options, timeout=timeout, show=show)
        )

    def call(
        self,
        model: str,
        input: str | Sequence[Any],
        *,
        name: str = "call",
        emit: Emit = "nothing",
        volatile: Sequence[str] = (),
        **parameters: Any,
    ) -> Response:
        """See `AgentContext.call`."""
        found: Response = self._run(
            lambda: self._ctx.call(
                model, input, name=name, emit=emit, volatile=volatile, **parameters
            )
        )
        return found

    def tool(
        self,
        tool: Tool | Mapping[str, Any],
        name: str,
        arguments: Mapping[str, Any],
        *,
        show: bool | Approval = False,
    ) -> ToolResult:
        """See `AgentContext.tool`."""
        found: ToolResult = self._run(lambda: self._ctx.tool(tool, name, arguments, show=show))
        return found

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """See `AgentContext.scope`."""

        async def inner() -> Scope:
            return here().inner(name)

        with entered(self._run(inner)):
            yield

    def now(self) -> datetime:
        """See `AgentContext.now`."""
        found: datetime = self._run(self._ctx.now)
        return found

    @property
    def random(self) -> random.Random:
        """See `AgentContext.random`."""

        async def of_scope() -> Any:
            return self._ctx.random

        found: random.Random = self._run(of_scope)
        return found

    def uuid(self) -> UUID:
        """See `AgentContext.uuid`."""

        async def of_scope() -> Any:
            return self._ctx.uuid()

        found: UUID = self._run(of_scope)
        return found

    @contextmanager
    def message(self, *, key: str = "") -> Iterator[SyncMessageWriter]:
        """See `AgentContext.message`: `with sync.message() as text: text.write(...)`."""
        with self._opened(lambda: self._ctx.message(key=key)) as writer:
            yield writer

    @contextmanager
    def reasoning(self, *, key: str = "") -> Iterator[SyncMessageWriter]:
        """See `AgentContext.reasoning`."""
        with self._opened(lambda: self._ctx.reasoning(key=key)) as writer:
            yield writer

    def emit(self, item: Item, *, key: str = "") -> Item:
        """See `AgentContext.emit`."""
        found: Item = self._run(lambda: self._ctx.emit(item, key=key))
        return found

    def approval(self, name: str, arguments: Any) -> Approval:
        """See `AgentContext.approval`."""
        found: Approval = self._run(lambda: self._ctx.approval(name, arguments))
        return found

    def approvals(self, calls: Sequence[tuple[str, Any]]) -> list[Approval]:
        """See `AgentContext.approvals`."""
        found: list[Approval] = self._run(lambda: self._ctx.approvals(calls))
        return found

    def client_call(self, name: str, arguments: Any) -> str:
        """See `AgentContext.client_call`."""
        found: str = self._run(lambda: self._ctx.client_call(name, arguments))
        return found

    def save(self, state: Any) -> None:
        """See `AgentContext.save`."""
        self._run(lambda: self._ctx.save(state))

    def _run(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if current.get(None) is None:  # a thread with context variables of its own
            current.set(self._scope)
        return self._calls.run(begin())

    @contextmanager
    def _opened(
        self, opens: Callable[[], AbstractAsyncContextManager[MessageWriter]]
    ) -> Iterator[SyncMessageWriter]:
        opened = opens()
        writer = self._run(opened.__aenter__)

        def leave(error: BaseException | None) -> bool | None:
            cause = (None, None, None) if error is None else (type(error), error, None)
            return self._run(lambda: opened.__aexit__(*cause))

        try:
            yield SyncMessageWriter(self._calls, writer)
        except BaseException as error:
            if not leave(error):
                raise
        else:
            leave(None)
