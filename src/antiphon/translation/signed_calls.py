"""Calls with a signature in their id: clients see a shorter one, from which the id of the stored item follows.

Some clients send back a call without the reasoning next to it, and without the id of its item: the signature is stored
with the call too, and is found again by what such a client keeps.
"""

from collections.abc import Mapping
from typing import Any

from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.messages import FunctionCall

SIGNED_CALL = "call_signed"
"""The prefix of the ids of such calls."""

SIGNABLE: Mapping[type, str] = {FunctionCall: "fc", CustomToolCall: "ctc"}
"""The types of such calls, with the prefixes of their ids."""


def item_of(call_id: str, prefix: str) -> str:
    """Return the id of the item of such a call; `prefix` is that of its type's ids."""
    return prefix + call_id.removeprefix(SIGNED_CALL)


def signature_of(call: Any) -> str | None:
    """Return the sealed signature that a call of one of these types has outside of its fields, None without one."""
    blob: str | None = call.__dict__.get("sealed")
    return blob


def sign(item: Any, blob: str) -> None:
    """Add its sealed signature to a call, where no client sees it; items of other types have none."""
    if type(item) in SIGNABLE:
        item.__dict__["sealed"] = blob
