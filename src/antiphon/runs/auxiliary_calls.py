"""Requests to the model beside the answer that the client waits for: a summary. `corrections.py` has the rest."""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol.items.messages import CompactionTrigger, InputItem, Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.tools import ToolChoice

SUMMARY = """\
This conversation is getting long and is about to be replaced by a summary, which you write now. Whoever goes on with \
it sees the users' messages word for word and your summary, and nothing else. Write down, briefly and completely:
- what is to be achieved, and what the users asked for or ruled out;
- what was decided, and why;
- what was done and what came of it: files with their paths, commands, names, numbers, errors, in their exact spelling;
- what is still open: steps under way, calls of tools whose outcome matters, questions nobody answered;
- what to do next.
Answer with the summary alone. Call no tool."""


def summary_of(request: CreateResponse, items: Sequence[InputItem]) -> tuple[CreateResponse, list[InputItem]]:
    """Return what to ask, about which conversation, to have it summarised."""
    asked = aside(request, tool_choice="none")
    told = [item for item in items if not isinstance(item, CompactionTrigger)]
    return asked, [*told, Message(role="user", content=SUMMARY)]


def aside(request: CreateResponse, *, tool_choice: ToolChoice | None) -> CreateResponse:
    """Return the request without what is about the answer that the client waits for."""
    return replace(
        request,
        tool_choice=tool_choice,
        input=UNSET,
        text=None,
        include=None,
        top_logprobs=None,
        max_output_tokens=None,
    )
