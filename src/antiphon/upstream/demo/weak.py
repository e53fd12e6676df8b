"""Models in addition to `demo` with the weaknesses of local models:
docs/guides/check-conformance.md lists them.

Each is `demo` with one weakness. Like `demo`, it makes only the calls that the user's newest
message requests.
"""

import json
import re
from collections.abc import Callable, Mapping

from antiphon.errors import ClientError
from antiphon.ids import Clock, NewId, new_id, now
from antiphon.upstream.demo.answer import CALL, text_of
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.demo.checks import NAME, Fields
from antiphon.upstream.scripted import Answer

Change = Callable[[Fields, Fields], Fields]
"""Receives a request and the message that `demo` would answer; returns the answer of the weak
model.
"""


def _in_text(request: Fields, message: Fields) -> Fields:
    """Write calls as text, as Hermes and Qwen do; a server without their parser does not find
    them.
    """
    calls = message.get("tool_calls") or _spelled(request)
    blocks = (
        f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {created}}}\n</tool_call>'
        for name, created in calls
    )
    return {"content": "\n".join(blocks)} if calls else message


def _spelled(request: Fields) -> list[tuple[str, str]]:
    """Return the calls that the newest message requests, of functions that an earlier one
    describes.
    """
    *before, newest = map(text_of, request["messages"])
    reported = "\n".join(before)
    return [
        (name, created or "{}")
        for name, created in CALL.findall(newest)
        if re.search(rf"\b{re.escape(name)}\b", reported)
    ]


def _without_bracket(request: Fields, message: Fields) -> Fields:
    """Omit the last bracket of each call's arguments."""
    calls = message.get("tool_calls")
    return (
        {**message, "tool_calls": [(name, created[:-1]) for name, created in calls]}
        if calls
        else message
    )


def _no_tools(request: Fields, message: Fields) -> Fields:
    if request.get("tools"):
        raise ClientError("demo-no-tools does not support tools", param="tools")
    return _in_text(request, message)


def _small_grammar(request: Fields, message: Fields) -> Fields:
    if '"pattern":' in json.dumps([request.get("tools"), request.get("response_format")]):
        raise ClientError("Failed to initialize samplers: failed to parse grammar")
    return message


WEAKNESSES: Mapping[str, Change] = {
    "demo-text-calls": _in_text,
    "demo-no-tools": _no_tools,
    "demo-broken-json": _without_bracket,
    "demo-small-grammar": _small_grammar,
}
"""By the name of the model."""

OWNER = "demo"
"""Owner of the models. It identifies no dialect, so Antiphon corrects them like those of an unknown
server.
"""


class WeakDemoBackend(DemoBackend):
    """`demo`, and a model for each weakness."""

    def __init__(self, *, now: Clock = now, new_id: NewId = new_id) -> None:
        super().__init__(now=now, new_id=new_id, models=(NAME, *WEAKNESSES), owner=OWNER)

    def answer(self, path: str, request: Fields) -> Answer:
        """See `DemoBackend.answer`."""
        change = WEAKNESSES.get(str(request.get("model")))
        return (
            super().answer(path, request)
            if change is None
            else self._changed(path, request, change)
        )

    def _changed(self, path: str, request: Fields, change: Change) -> Answer:
        return self.answer_as(
            path, {**request, "model": NAME}, lambda message: change(request, message)
        )
