"""Runs the steps of a handler: those in the journal are looked up, all others are executed."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

import msgspec

from antiphon.agents.errors import (
    AgentError,
    StepFailed,
    StepInterrupted,
    deleted_meanwhile,
    result_too_large,
)
from antiphon.agents.forks import await_without_forks, without_forks
from antiphon.agents.journal import NO_INPUT, Journal
from antiphon.agents.keys import Scope, entered, here
from antiphon.agents.observed import ObservedAttempt
from antiphon.agents.pause import RunPause
from antiphon.agents.results import decoded, digest_of, encoded, type_of
from antiphon.errors import StoreError
from antiphon.storage.records.steps import Step, StepState

_idempotency: ContextVar[str] = ContextVar("idempotency")


def idempotency_key() -> str:
    """Return a key for the remote that a step calls, equal in all attempts of this step.

    Raises `RuntimeError` outside a step.
    """
    try:
        return _idempotency.get()
    except LookupError:
        raise RuntimeError("There is an idempotency key only inside a step.") from None


class StepStore(Protocol):
    """Where the steps of a response are stored."""

    def ride(self, key: str) -> None:
        """Store a step with the next write: nothing outside has seen it yet."""
        ...

    async def commit(self, keys: Sequence[str]) -> None:
        """Store steps durably, with all that was emitted and that rides along."""
        ...

    async def load(self, place: int, response_id: str) -> Step | None:
        """Return a step with its whole body, of an earlier response if one is named."""
        ...


class StepError(msgspec.Struct):
    """The error of a step, as the journal has it."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class RequestedStep:
    """A step that the handler asks for, and what the journal has of it."""

    key: str
    digest: bytes
    found: Step | None

    @property
    def is_over(self) -> bool:
        """Whether an earlier attempt recorded its result."""
        return self.found is not None and self.found.state is not StepState.BEGUN


class StepDisplay(Protocol):
    """The item that shows a step to the client."""

    def opened(self) -> AbstractAsyncContextManager[Callable[[Step], None]]:
        """Open the item for a block; the block calls the result with the step that has ended."""
        ...

    async def catch_up(self, step: Step) -> None:
        """Emit the item of a step of an earlier attempt, unless that attempt emitted it."""
        ...


@dataclass(frozen=True, slots=True)
class StepWork:
    """What a step does, and how: see `AgentContext.step`."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    once: bool = False
    retries: int = 0
    timeout: float | None = None
    display: StepDisplay | None = None


class Steps:
    """The steps of one attempt."""

    def __init__(
        self,
        journal: Journal,
        store: StepStore,
        pause: RunPause,
        now: Callable[[], int],
        run_id: str,
        end_attempt: Callable[[StoreError], None],
        observed: ObservedAttempt,
    ) -> None:
        self._journal = journal
        self.pause = pause
        self.store = store
        self.observed = observed
        self._now = now
        self._run_id = run_id
        self._end_attempt = end_attempt
        self.at_most_once: set[asyncio.Task[Step]] = set()
        """Steps with `once=True` that run."""
        self.executes: Callable[[str], None] | None = None
        """Called with the key of each step that is executed, for tests of agents."""

    async def recorded(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a value that is made once, and recorded with the next write."""
        key = here().key(name)
        found = self._journal.find(key, NO_INPUT)
        if found is not None:
            return decoded(found.body)
        value, now = make(), self._now()
        self._journal.put(key, NO_INPUT, StepState.DONE, encoded(value, name), now, now)
        self.store.ride(key)
        return value

    def request(self, name: str, fields: Mapping[str, Any]) -> RequestedStep:
        """Return the next step of this name, with the fields of its input. Raises `AgentError`
        (`agent_changed`).
        """
        key = here().key(name)
        digest = digest_of(fields)
        return RequestedStep(key, digest, self._journal.find(key, digest))

    async def complete(self, requested: RequestedStep, work: StepWork) -> Any:
        """Execute a step, or return what an earlier attempt recorded. See `AgentContext.step`."""
        with self.observed.step(requested.key, is_once=work.once, is_recorded=requested.is_over):
            return await self._completed(requested, work)

    async def _completed(self, requested: RequestedStep, work: StepWork) -> Any:
        if requested.is_over:
            return await self._recorded_result(requested, work)
        if requested.found is not None:
            if work.display is not None:
                await work.display.catch_up(requested.found)
            raise StepInterrupted(requested.key)
        await self.pause.admit()
        call = self._executed(requested, work)
        if not work.once:
            return self._result(await call, work.function)
        # A task of its own: it ends, and its result is recorded, although the handler is cancelled.
        task = asyncio.create_task(call)
        self.at_most_once.add(task)
        task.add_done_callback(self.at_most_once.discard)
        return self._result(await asyncio.shield(task), work.function)

    async def _recorded_result(self, requested: RequestedStep, work: StepWork) -> Any:
        assert requested.found is not None  # noqa: S101 - its caller checks that
        step = await self.whole(requested.found)
        if work.display is not None:
            await work.display.catch_up(step)
        return self._result(step, work.function)

    async def _executed(self, requested: RequestedStep, work: StepWork) -> Step:
        """Execute a step and commit its result; return it as the journal has it."""
        with self.pause.working():
            if work.display is None:
                step = await self._tried_and_noted(requested, work)
            else:
                async with work.display.opened() as show:
                    step = await self._tried_and_noted(requested, work)
                    show(step)
            await self.store.commit([requested.key])
            return step

    async def _tried_and_noted(self, requested: RequestedStep, work: StepWork) -> Step:
        """Execute a step; return it, with its result, as it is to be committed."""
        key, began = requested.key, self._now()
        if work.once:
            self._journal.put(key, requested.digest, StepState.BEGUN, b"", began, began)
            await self.store.commit([key])
        try:
            with self.without_store_errors():
                value = await self._tried(key, work)
            body, state = encoded(value, f"the result of the step {key!r}"), StepState.DONE
            if len(body) > (most := self._journal.limits.step_bytes):
                raise result_too_large(key, len(body), most)
        except (AgentError, StepInterrupted, asyncio.CancelledError):
            raise
        except BaseException as error:  # a result as well: a later attempt takes the same branch
            body, state = msgspec.json.encode(_failure_of(error)), StepState.FAILED
        return self._journal.put(key, requested.digest, state, body, began, self._now())

    async def _tried(self, key: str, work: StepWork) -> Any:
        with entered(Scope(f"{key}/")):
            token = _idempotency.set(self.name_of(key))
            try:
                for left in range(work.retries, -1, -1):
                    self.note_execution(key)
                    try:
                        async with asyncio.timeout(work.timeout):
                            return await _called(work.function, work.arguments)
                    except (AgentError, StepInterrupted, StepFailed):
                        raise
                    except Exception:
                        if not left:
                            raise
            finally:
                _idempotency.reset(token)

    def name_of(self, key: str) -> str:
        """Return a name of a step that no other step of any response has, equal in all attempts."""
        return sha256(f"{self._run_id} {key}".encode()).hexdigest()[:32]

    def _result(self, step: Step, function: Callable[..., Any]) -> Any:
        if step.state is StepState.FAILED:
            failure = msgspec.json.decode(step.body, type=StepError)
            raise StepFailed(step.key, failure.type, failure.message)
        return decoded(step.body, type_of(function))

    @contextmanager
    def without_store_errors(self) -> Iterator[None]:
        """End the attempt if the store fails. That is no result: the handler would take a branch
        that a later attempt does not take.
        """
        try:
            yield
        except StoreError as error:
            self._end_attempt(error)
            raise asyncio.CancelledError from None

    def note_execution(self, key: str) -> None:
        """Report that a step is executed, for tests of agents."""
        if self.executes is not None:
            self.executes(key)

    async def whole(self, step: Step) -> Step:
        """Return a step with its body. Raises `AgentError` if it was deleted."""
        if not step.is_partial:
            return step
        with self.without_store_errors():
            found = await self.store.load(step.place, self._journal.owner_of(step))
        if found is None:
            raise deleted_meanwhile()
        self._journal.restore(found)
        return found


async def _called(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await await_without_forks(function(*arguments))
    value = await asyncio.to_thread(_called_in_thread, function, arguments)
    return await await_without_forks(value) if isinstance(value, Awaitable) else value


def _called_in_thread(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        with without_forks():
            return function(*arguments)
    except StopIteration as error:  # a future refuses it, so its waiter would wait forever
        raise RuntimeError("The function of the step raised StopIteration.") from error


def _failure_of(error: BaseException) -> StepError:
    """Return an error as the journal has it; that of a step within the step keeps its own type."""
    if isinstance(error, StepFailed):
        return StepError(error.type, error.message)
    return StepError(type(error).__name__, str(error)[:10_000])
