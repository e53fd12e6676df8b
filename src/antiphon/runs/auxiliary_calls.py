"""What the model is asked beside the answer that the client waits for: a summary, or a call's input once more."""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol.items.calls import CustomToolCall, CustomToolCallOutput
from antiphon.protocol.items.messages import CompactionTrigger, InputItem, Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import CustomChoice, ToolChoice

SUMMARY = """\
This conversation is getting long and is about to be replaced by a summary, which you write now. Whoever goes on with \
it sees the users' messages word for word and your summary, and nothing else. Write down, briefly and completely:
- what is to be achieved, and what the users asked for or ruled out;
- what was decided, and why;
- what was done and what came of it: files with their paths, commands, names, numbers, errors, in their exact spelling;
- what is still open: steps under way, calls of tools whose outcome matters, questions nobody answered;
- what to do next.
Answer with the summary alone. Call no tool."""

AGAIN = """\
This input was not used: it does not fit the grammar that the tool's description gives. {misfit} \
Call the tool again with the same content in a form that fits."""


def summary_of(request: CreateResponse, items: Sequence[InputItem]) -> tuple[CreateResponse, list[InputItem]]:
    """Return what to ask, about which conversation, to have it summarised."""
    asked = _plain(request, tool_choice="none")
    told = [item for item in items if not isinstance(item, CompactionTrigger)]
    return asked, [*told, Message(role="user", content=SUMMARY)]


def repair_of(
    request: CreateResponse, items: Sequence[InputItem], call: CustomToolCall, misfit: str
) -> tuple[CreateResponse, list[InputItem]]:
    """Return what to ask, about which conversation, to have a custom tool's input written once more."""
    asked = _plain(request, tool_choice=CustomChoice(name=call.name))
    answered = CustomToolCallOutput(call_id=call.call_id, output=AGAIN.format(misfit=misfit))
    return asked, [*items, call, answered]


def _plain(request: CreateResponse, *, tool_choice: ToolChoice) -> CreateResponse:
    return replace(
        request,
        tool_choice=tool_choice,
        input=UNSET,
        text=None,
        include=None,
        top_logprobs=None,
        max_output_tokens=None,
    )
