"""The turns of responses that can run server-side tools, search for tools, compact the context or
repair a call.

next() ──> [AuxiliaryCall for a summary ──> Compact]             if the context is already too long
       ──> [RunTools of the checkpoint ──> EmitItem]             if an earlier attempt ended among these calls
       ──> ListTools of MCP servers ──> RunTools that the client approved
       ──> CallModel ── refused(error) ──> next()                without the parameter, or with less history
              └──────── answered(ending) ──> AuxiliaryCall, to repair a call's input ──> Settle
                                         ──> RunTools that the model called ──> CallModel
                                         ──> EmitItem for each result of a tool search ──> CallModel
                                         ──> [AuxiliaryCall for a summary ──> Compact] ──> FinishRun
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import Callable, Generator, Sequence
from typing import Any

from msgspec.structs import replace as replace_struct

from antiphon.errors import AntiphonError, BackendError, ClientError, log
from antiphon.protocol.items.calls import ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.content import Item, OutputText
from antiphon.protocol.items.messages import Compaction, CompactionTrigger, InputItem, Message
from antiphon.protocol.validation.call_rules import CALLS, open_calls
from antiphon.recording.checkpoints import Checkpoint, ToolCallRecord
from antiphon.runs.auxiliary_calls import summary_of
from antiphon.runs.loops import STOPPED
from antiphon.runs.plan import RunPlan
from antiphon.runs.request_builder import RequestBuilder
from antiphon.runs.steps import (
    AttachFiles,
    CallModel,
    Compact,
    EmitItem,
    FinishRun,
    ListTools,
    ModelResult,
    RunTools,
    SkipCompaction,
    Step,
    Steps,
)
from antiphon.runs.tool_policy import Approved, ToolPolicy
from antiphon.runs.turn import Turn
from antiphon.tools.registry import Toolset
from antiphon.translation.files import UnreadFile
from antiphon.translation.hosted_call import HostedCall
from antiphon.translation.to_chat_completions.prefix import joined
from antiphon.translation.to_chat_completions.tokens import tokens_of
from antiphon.translation.to_responses.request import countable
from antiphon.translation.tool_mapping.choice import relaxed
from antiphon.translation.tool_mapping.offering import Toolbox
from antiphon.translation.tool_mapping.search import search
from antiphon.translation.wire import Finish

MAX_SEARCHES = 8
"""Tool searches that the model can run in one response if `max_tool_calls` is not set."""

THRESHOLD = 100_000
"""Tokens at which a context is compacted if the client does not set a threshold."""


CROWDED = 0.8
"""Fraction of the model's window at which a context is always compacted:
the rest is for the summary.
"""


class AgenticTurn(Turn):
    """A turn that can run server-side tools, search for tools, compact the context,
    or repair a call's input.

    It resumes an earlier attempt if the plan has one: the calls of its checkpoint come first.
    """

    def __init__(
        self, builder: RequestBuilder, plan: RunPlan, created: Callable[[], Sequence[Any]]
    ) -> None:
        super().__init__(builder)
        resume = plan.resume
        checkpoint = resume.checkpoint if resume else Checkpoint()
        self.earlier = checkpoint.usage
        self._remaining = resume.remaining if resume else None
        self._created = created
        toolset = plan.tools or Toolset()
        items = plan.items
        self._hosted = ToolPolicy(
            plan.request,
            toolset,
            lambda: joined(items, created()),
            created,
            plan.unseal,
            plan.context.input,
            checkpoint.rounds,
        )
        self._searches = 0
        self.steps = self._decide()

    def is_late(self) -> None:
        """Handle the end of the time limit for server-side tools."""
        self._hosted.is_late = True

    # The steps, in their order.

    def _decide(self) -> Steps:
        if self.builder.items and isinstance(self.builder.items[-1], CompactionTrigger):
            error = yield from self._compact(is_wanted=True)
            yield self._finish(Finish("completed", None, error))
            return
        if self._limit and (yield from self._is_crowded(self._limit)):
            yield from self._compact_below(self._limit)
        ending = yield from self._respond()
        if self._limit and self._is_too_long(ending, self._limit):
            yield from self._compact_below(self._limit)
        yield self._finish(ending)

    def _respond(self) -> Generator[Step, None, Finish]:
        """Call the model until it requests nothing more from this server."""
        if self._remaining is not None:
            yield self._run_tools(remaining=self._remaining)
            yield from map(EmitItem, self._find())
            if self._waits_for_client():
                return Finish("completed", None)
        if self._cap is not None and self._spent:
            self._leave_rest()
        while True:
            created = len(self._created()) if self.builder.request.max_tool_calls else 0
            result = yield from self._send_request()
            ending = result.ending
            if self.builder.demands_call and not ending.retained and self._owes_call(ending):
                ending = yield from self._demand(ending)
            if ending.retained and (error := (yield from self._corrections(ending))):
                return replace_struct(ending, error=error)
            if ending.error is not None or ending.outcome != "completed":
                return ending
            goes_on = yield from self._carry_out(ending)
            if ending.are_used_up and not goes_on:
                goes_on = not any(isinstance(item, Message) for item in self._created()[created:])
            if not goes_on or self._waits_for_client():
                return ending
            if self._hosted.is_enough(were_used_up=ending.are_used_up):
                return replace_struct(ending, outcome="max_messages")
            if self._cap is not None and self._spent >= self._cap:
                return replace_struct(ending, outcome="max_output_tokens")
            self._leave_rest()

    def _run_tools(
        self,
        retained: Sequence[HostedCall] = (),
        approved: Sequence[Approved] = (),
        remaining: Sequence[ToolCallRecord] = (),
    ) -> RunTools:
        return RunTools(retained, approved, remaining, self.usage, self._hosted.rounds)

    def _carry_out(self, ending: Finish) -> Generator[Step, None, bool]:
        """Execute the server-side calls of the model; return whether to call the model again
        with their results.
        """
        calls = [call for call in ending.retained if isinstance(call, HostedCall)]
        if calls:
            yield self._run_tools(calls)
        found = self._find()
        for item in found:
            yield EmitItem(item)
        return bool(calls or found)

    def _relax(self) -> None:
        """Relax `tool_choice` after a call met its requirement, even one that awaits approval: the
        model can answer.
        """
        if self._hosted.were_called:
            self.builder.request = replace_struct(
                self.builder.request, tool_choice=relaxed(self.builder.request.tool_choice)
            )

    def _waits_for_client(self) -> bool:
        return bool(open_calls(self._created())) or self._hosted.waits_for_client

    def _prepare(self) -> Steps:
        """Before the first Chat call: list the tools of the MCP servers, and run the calls
        that the client approved.
        """
        if not self._hosted.begins():
            return
        self._hosted.check()
        if servers := self._hosted.servers():
            yield ListTools(servers, self._hosted.listed())
        toolbox = self.builder.toolbox(self._conversation())
        if approved := self._hosted.approved(toolbox):
            yield self._run_tools(approved=approved)

    def _compact_below(self, limit: int) -> Steps:
        """Compact the context, unless the retained part is too long: then every turn
        would compact again.
        """
        stored = [
            item
            for item in self._conversation()
            if isinstance(item, Message) and item.role != "assistant"
        ]
        if self._size(stored) >= limit:
            yield SkipCompaction()
        else:
            yield from self._compact()

    def _compact(self, *, is_wanted: bool = False) -> Generator[Step, None, AntiphonError | None]:
        """Have the conversation summarized; return why it failed.

        Only a summary that `is_wanted` is mandatory.
        """
        self._is_optional = not is_wanted
        self.builder.thins_out = True
        answer = yield from self._call_auxiliary(
            lambda: summary_of(self.builder.request, self._conversation()), compacts=is_wanted
        )
        self._is_optional = False
        self.builder.thins_out = False
        text = text_of(answer.items)
        error = answer.ending.error
        if text and error is None:
            yield Compact(text)
            return None
        error = error or BackendError("The model returned no summary.")
        if not is_wanted:
            log.warning("The context was not compacted: %s", error.gist)
        return error

    def _finish(self, ending: Finish) -> FinishRun:
        return FinishRun(Finish(ending.outcome, self.usage, ending.error, note=ending.note))

    # Calling the model.

    def _send_request(self, more: Sequence[InputItem] = ()) -> Generator[Step, None, ModelResult]:
        """Call the model with the conversation; `more` follows it for this call alone."""
        builder = self.builder
        hosted = self._hosted
        while (result := self._taken()) is None:
            if builder.api_for(builder.request, self._conversation()) == "chat":
                yield from self._prepare()
                if hosted.waits_for_client:
                    return ModelResult(Finish("completed", None))
                self._relax()
            try:
                built = builder.build(
                    builder.request, joined(self._conversation(), more), self._limit_tools
                )
                if builder.target.may_have_window:
                    built = builder.fitted(
                        built,
                        lambda: builder.build(
                            builder.request, joined(self._conversation(), more), self._limit_tools
                        ),
                    )
            except UnreadFile as unread:
                yield AttachFiles(unread.part, unread.form)
                continue
            except ClientError as error:  # this backend cannot serve it
                self.failed(error)
                continue
            calls = hosted.calls_left, hosted.sources(), hosted.call_ids(), hosted.cite_files()
            if built.note == STOPPED:
                return ModelResult(Finish("max_messages", None, note=STOPPED))
            yield CallModel(
                built.body,
                built.toolbox,
                built.allowed,
                built.api,
                built.check,
                built.note,
                *calls,
                adjusted=built.adjusted,
            )
        return result

    def _limit_tools(self, toolbox: Toolbox) -> None:
        """Remove tools that have reached their limit of calls from the tools offered
        to the model.
        """
        if self._searches >= (self.builder.request.max_tool_calls or MAX_SEARCHES):
            toolbox.drop_search()
        toolbox.are_used_up = self._hosted.calls_left == 0

    def _conversation(self) -> Sequence[InputItem]:
        return joined(self.builder.items, self._created())

    # The steps that this server performs.

    def _find(self) -> list[ToolSearchOutput]:
        """Return the results of tool searches that are not answered yet."""
        if self.builder.api == "responses":
            return []  # the backend has already answered them
        created = self._created()
        searches = [
            item
            for item in created
            if isinstance(item, ToolSearchCall) and item.execution == "server"
        ]
        answered = sum(isinstance(item, ToolSearchOutput) for item in created)
        new = searches[answered:]
        if not new:
            return []
        self._searches = len(searches)
        toolbox = self.builder.toolbox(self._conversation())
        return [
            ToolSearchOutput(
                call_id=None,
                execution="server",
                status="completed",
                tools=search(toolbox.deferred, item.arguments),
            )
            for item in new
        ]

    @property
    def _limit(self) -> int | None:
        """Tokens at which the context is compacted: at most a fixed fraction of the model's window,
        if it is known.
        """
        wanted = [
            entry.compact_threshold or THRESHOLD
            for entry in self.builder.request.context_management or ()
        ]
        if wanted and (window := self.builder.target.window) is not None:
            wanted.append(int(window * CROWDED))
        return min(wanted, default=None)

    def _is_crowded(self, limit: int) -> Generator[Step, None, bool]:
        """Whether the context for the next call is too long, and contains items
        that can be compacted.
        """
        folded = [
            place for place, item in enumerate(self.builder.items) if type(item) is Compaction
        ]
        new = self.builder.items[folded[-1] + 1 :] if folded else self.builder.items
        is_worth = any(
            type(item) in CALLS or (isinstance(item, Message) and item.role == "assistant")
            for item in new
        )
        while is_worth:
            try:
                return self._size(self.builder.items) >= limit
            except UnreadFile as unread:
                yield AttachFiles(unread.part, unread.form)
        return False

    def _size(self, items: Sequence[InputItem]) -> int:
        """Return the tokens of these items as the model sees them."""
        # `tool_choice` can name a tool that is not listed yet; it does not change the length.
        request = replace_struct(self.builder.request, tool_choice=None)
        built = self.builder.build(request, items, self._limit_tools)
        return tokens_of(countable(built.body) if built.api == "responses" else built.body)

    def _is_too_long(self, ending: Finish, limit: int) -> bool:
        """Whether the input and output of the model are too long.

        Calls that wait for the client are not compacted.
        """
        if ending.error is not None or ending.outcome != "completed" or self._waits_for_client():
            return False
        return ending.usage is not None and ending.usage.total_tokens >= limit


def text_of(items: Sequence[Item]) -> str:
    """Return the text of messages."""
    content = [item.content for item in items if isinstance(item, Message)]
    return "".join(
        part.text for content in content for part in content if isinstance(part, OutputText)
    ).strip()
