"""Requests to the model for purposes other than the client's answer: a summary. `corrections.py`
has the others.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.protocol.formats import TextFormat
from antiphon.protocol.items.messages import (
    CompactionTrigger,
    ConfigurationUpdate,
    InputItem,
    Message,
    kinds_of,
)
from antiphon.protocol.requests import CreateResponse, TextConfig
from antiphon.protocol.tools import ToolChoice

SUMMARY = """\
This conversation is getting long and is about to be replaced by a summary, which you write now. The model that \
continues with it sees the users' messages word for word and your summary, and nothing else. Write down, briefly \
and completely:
- what is to be achieved, and what the users requested or ruled out;
- what was decided, and why;
- what was done and what came of it: files with their paths, commands, names, numbers, errors, in their exact spelling;
- what is still open: steps under way, tool calls with outcomes that matter, unanswered questions;
- what to do next.
Answer with the summary alone. Call no tool."""  # noqa: E501 - the lines of a text


def summary_of(
    request: CreateResponse, items: Sequence[InputItem]
) -> tuple[CreateResponse, list[InputItem]]:
    """Return the request, and the conversation to summarize, for a summary."""
    requested = aside(request, items, tool_choice="none")
    stored = [item for item in items if not isinstance(item, CompactionTrigger)]
    return requested, [*stored, Message(role="user", content=SUMMARY)]


def aside(
    request: CreateResponse, items: Sequence[InputItem], *, tool_choice: ToolChoice | None
) -> CreateResponse:
    """Return the request without the settings that concern only the client's answer.

    `items` is the conversation. A `configuration_update` in it sets the format of a request that
    has none, so the returned request sets plain text explicitly.
    """
    return replace(
        request,
        tool_choice=tool_choice,
        input=UNSET,
        text=TextConfig(format=TextFormat()) if ConfigurationUpdate in kinds_of(items) else None,
        include=None,
        top_logprobs=None,
        max_output_tokens=None,
    )
