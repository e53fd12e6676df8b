"""The argument of a handler: the request, durable steps, and the output of the response."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar, overload
from uuid import UUID

from antiphon.agents.approvals import Approval, ClientQuestions, request_id_of
from antiphon.agents.calls import AgentCalls
from antiphon.agents.displayed_steps import DisplayedCall, own_arguments, own_offer, own_outcome
from antiphon.agents.emitted_items import Emit
from antiphon.agents.inheritance import AgentInput
from antiphon.agents.journal import NO_INPUT, SAVED, Journal
from antiphon.agents.keys import entered, here
from antiphon.agents.output import AgentOutput, MessageWriter, checked_item
from antiphon.agents.records import Records
from antiphon.agents.results import encoded
from antiphon.agents.steps import RequestedStep, Steps, StepWork
from antiphon.agents.sync_context import SyncContext, ThreadCalls
from antiphon.agents.tools import AgentTools, ToolResult
from antiphon.protocol.items.content import InputText, Item, OutputText
from antiphon.protocol.items.messages import Message
from antiphon.protocol.response import Response
from antiphon.protocol.tools import Tool
from antiphon.storage.records.steps import StepState

T = TypeVar("T")

JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None

LARGEST_STATE = 1024 * 1024
"""Bytes of JSON."""


class AgentContext:
    """One attempt to compute one response.

    The handler runs again from its start if a worker dies, so whatever has an effect outside, or
    depends on time or chance, goes through a method of this object: what an earlier attempt did is
    then not done again.

    These are the same in each attempt:

    - `response_id`, `conversation_id`, `tenant`, `metadata`, and all parameters of the `request`
    - `input`, the new items, and `history`, those of the chain or conversation before them
    - `state`, what the agent's last response in the chain saved; None at first
    - `started_version`, the version of the code that began the response

    A response that continues with the client's answers has the same values: `response_id` is that
    of the response that began the run.

    `attempt` counts from 1. `shutdown` is set when this process stops; another one continues.
    """

    def __init__(
        self,
        begun: AgentInput,
        tenant: str,
        attempt: int,
        parts: tuple[Journal, Steps, AgentOutput, AgentCalls, AgentTools, ClientQuestions],
        now: Callable[[], float],
    ) -> None:
        self.request = request = begun.request
        self.response_id = begun.run_id
        self.tenant = tenant
        self.history = begun.history
        self.input = begun.input
        self.state: JsonValue = begun.state
        self.attempt = attempt
        self.conversation_id: str | None = request.conversation_id
        self.metadata: Mapping[str, str] = request.metadata or {}
        self.shutdown = asyncio.Event()
        self._journal, self._steps, self._output, self._calls, self._tools, self._questions = parts
        self._now = now
        self._randoms: dict[str, random.Random] = {}
        self.threads = ThreadCalls()

    @property
    def sync(self) -> SyncContext:
        """The same methods for code in a thread, in which they block."""
        return SyncContext(self, self.threads, here())

    @property
    def started_version(self) -> str:
        """The version of the code that began the response."""
        return self._journal.started_version

    @property
    def input_text(self) -> str:
        """The text of the newest message of the user; empty without one."""
        for item in reversed(self.input):
            if isinstance(item, Message) and item.role == "user":
                return _text_of(item)
        return ""

    @overload
    async def step(
        self,
        name: str,
        function: Callable[..., Coroutine[Any, Any, T]],
        *args: Any,
        once: bool = False,
        retries: int = 0,
        timeout: float | None = None,  # noqa: ASYNC109 - it belongs to the step, not to its caller
        show: bool | Approval = False,
    ) -> T: ...

    @overload
    async def step(
        self,
        name: str,
        function: Callable[..., T],
        *args: Any,
        once: bool = False,
        retries: int = 0,
        timeout: float | None = None,  # noqa: ASYNC109 - it belongs to the step, not to its caller
        show: bool | Approval = False,
    ) -> T: ...

    async def step(
        self,
        name: str,
        function: Callable[..., Any],
        *args: Any,
        once: bool = False,
        retries: int = 0,
        timeout: float | None = None,  # noqa: ASYNC109 - it belongs to the step, not to its caller
        show: bool | Approval = False,
    ) -> Any:
        """Call the function with the arguments, and record its result; return the recorded result
        if an earlier attempt has one.

        The function is a coroutine function, or runs in a thread. Its arguments and its result are
        JSON values, dataclasses, msgspec structs or pydantic models. It runs at least once: again
        if its worker dies before the result is stored. With `once` it runs at most once, which
        costs a second write. It is repeated up to `retries` times if it raises, and may take
        `timeout` seconds each time. With `show` the client sees it as an `mcp_call` with the name
        of the agent as its `server_label`: its arguments, and its result or that it failed. With an
        `Approval` as `show`, the `mcp_call` also names the request that the client approved.

        Raises `StepFailed` if it raises in the end, `StepInterrupted` if it runs at most once and
        was begun by a worker that died, and `AgentError` if its arguments differ from those of the
        earlier attempt (`agent_changed`) or its result is too large (`step_result_too_large`).
        Raises `ValueError` for `once` with `retries`, and `TypeError` for arguments that JSON
        cannot represent.
        """
        if once and retries:
            raise ValueError("A step with once=True runs at most once: it has no retries.")
        requested = self._steps.request(
            name, {f"argument {n}": each for n, each in enumerate(args, 1)}
        )
        display = self._display(requested, name, function, args, show) if show else None
        work = StepWork(function, args, once, retries, timeout, display)
        return await self._steps.complete(requested, work)

    def _display(
        self,
        requested: RequestedStep,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        show: bool | Approval,
    ) -> DisplayedCall:
        call_id = f"call_{self._steps.name_of(requested.key)}"
        offer = own_offer(self.request.model, name, request_id_of(show))
        arguments = own_arguments(function, args)
        return DisplayedCall(self._output, requested.key, call_id, offer, arguments, own_outcome)

    async def call(
        self,
        model: str,
        input: str | Sequence[Any],
        *,
        name: str = "call",
        emit: Emit = "nothing",
        volatile: Sequence[str] = (),
        **parameters: Any,
    ) -> Response:
        """Call a model of this server, and record its response; return the recorded one if an
        earlier attempt has it.

        `input` and `parameters` are those of `POST /v1/responses`, with hosted tools and presets.
        The limits and the budget of the request's key apply. With `emit="text"` the messages of the
        model are a part of the agent's response, as they are generated; with `emit="items"` all its
        items but calls of functions. If the worker dies, a later attempt continues the call after
        its last tool call, and no tool that can change something runs twice; without tools, the
        model is called again.

        Raises `StepFailed` if it fails, with the code of the error as its `type`; `AgentError` if
        the input or a parameter differs from that of the earlier attempt (`agent_changed`), unless
        it is among the names in `volatile`; and `ValueError` for a parameter that a call cannot
        have, and for an invalid value.
        """
        return await self._calls.run(model, input, name, emit, volatile, parameters)

    async def tool(
        self,
        tool: Tool | Mapping[str, Any],
        name: str,
        arguments: Mapping[str, Any],
        *,
        show: bool | Approval = False,
    ) -> ToolResult:
        """Run a hosted tool of this server without a model, and record its result; return the
        recorded one if an earlier attempt has it.

        `tool` is one of `POST /v1/responses`: `mcp`, `web_search`, `file_search`,
        `code_interpreter`, or `shell` in a container. `name` is a function of it: a tool of the MCP
        server; `web_search`, `open_page` or `find_in_page`; else its type. `require_approval` and
        `allowed_tools` are for models, and do not apply. With `show` the client sees the call as
        its item; with an `Approval`, an `mcp_call` names the request that the client approved.

        A failure is a result (`is_failed`). So is a call that a dead worker may have executed: it
        is not repeated, unless the tool only reads or declares that it can be repeated.

        Raises `AgentError` (`agent_changed`) if the tool or the arguments differ from those of the
        earlier attempt; `ClientError` for an invalid tool; and `ValueError` for a tool or a
        function that this server does not run.
        """
        return await self._tools.run(tool, name, arguments, show)

    @asynccontextmanager
    async def scope(self, name: str) -> AsyncIterator[None]:
        """Prefix the keys of the steps in a block, for concurrent work in an order that can
        change. The name distinguishes the pieces of work.
        """
        with entered(here().inner(name)):
            yield

    async def now(self) -> datetime:
        """Return the time, in UTC: the same one in each attempt."""
        seconds = await self._steps.recorded("now", self._now)
        return datetime.fromtimestamp(seconds, UTC)

    @property
    def random(self) -> random.Random:
        """Random numbers of this scope, which are the same in each attempt."""
        path = here().path
        if path not in self._randoms:
            self._randoms[path] = random.Random(f"{self.response_id} {path}")  # noqa: S311 - repeatable on purpose
        return self._randoms[path]

    def uuid(self) -> UUID:
        """Return a random UUID of this scope, which is the same in each attempt."""
        return UUID(int=self.random.getrandbits(128), version=4)

    def message(self, *, key: str = "") -> AbstractAsyncContextManager[MessageWriter]:
        """Open a message: `async with ctx.message() as text: await text.write(...)`.

        It closes at the end of the block. One that an earlier attempt closed is not sent again.
        """
        return self._output.message(key)

    def reasoning(self, *, key: str = "") -> AbstractAsyncContextManager[MessageWriter]:
        """Open a reasoning item, like `message`."""
        return self._output.reasoning(key)

    async def emit(self, item: Item, *, key: str = "") -> Item:
        """Emit a whole output item; return it as it is in the response, with its id.

        Raises `TypeError` for an object that is no item of `antiphon.types`, or that JSON cannot
        represent, and `ValueError` for an invalid item.
        """
        if not isinstance(item, Item):
            raise TypeError(f"{type(item).__name__} is not an item of antiphon.types.")
        checked_item(item)
        return await self._output.emit(item, key)

    async def approval(self, name: str, arguments: JsonValue) -> Approval:
        """Ask the client to approve a call with these arguments; return its answer.

        Unless the answer is known, the response ends with a request for approval once the steps and
        items that are running have ended: this method does not return. The response with the answer
        calls the handler again, from its start, and what was done is not done again.

        An approval holds for these arguments alone: if they differ in a later attempt, the response
        fails (`agent_changed`). It also fails with `store: false` (`agent_needs_store`). Raises
        `RuntimeError` within a step or an open message.
        """
        (approval,) = await self._questions.approvals([(name, arguments)])
        return approval

    async def approvals(self, calls: Sequence[tuple[str, JsonValue]]) -> list[Approval]:
        """Ask the client to approve several calls, each a name and its arguments, in one response.
        Return the answers in the same order. Those without an answer are requested again. See
        `approval`.
        """
        return await self._questions.approvals(calls)

    async def client_call(self, name: str, arguments: JsonValue) -> str:
        """Let the client call a function of its own with these arguments; return its output.

        Like `approval`, it ends the response, with a `function_call`; the client answers with a
        `function_call_output` of text.
        """
        return await self._questions.client_call(name, arguments)

    async def save(self, state: JsonValue) -> None:
        """Save what the agent's next response in the chain finds as `state`: at most 1 MiB of JSON,
        stored with the next step or with the end.

        Raises `ValueError` for more.
        """
        body = encoded(state, "the state")
        if len(body) > LARGEST_STATE:
            raise ValueError(f"The state has {len(body):,} bytes; the most is {LARGEST_STATE:,}.")
        now = int(self._now() * 1000)
        self._journal.put(SAVED, NO_INPUT, StepState.DONE, body, now, now)
        self._steps.store.ride(SAVED)

    def records(self) -> Records:
        """Return the values that a framework keeps in the journal: for adapters of frameworks, one
        for each response.
        """
        return Records(self._journal, self._steps, self._now)

    def observe_steps(self, executes: Callable[[str], None]) -> None:
        """Call the function with the key of each step that is executed: for tests."""
        self._steps.executes = executes


def _text_of(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(
        part.text for part in message.content if isinstance(part, InputText | OutputText)
    )
