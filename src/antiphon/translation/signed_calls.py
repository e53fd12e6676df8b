"""Calls with a signature, which their backend needs back although clients can send the call without
its reasoning.

A stored response has the signature with the call: the id that clients see is short, and the id of
the stored item follows from it. A response that is not stored has the signature sealed in the
call's id, which every client sends back.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from antiphon.protocol.items.calls import CustomToolCall
from antiphon.protocol.items.content import LONGEST_SEALED, MAX_CALL_ID, SEALED_CALL
from antiphon.protocol.items.messages import FunctionCall

SIGNED_CALL = "call_signed"
"""The prefix of the ids of calls that are stored with a signature."""

SIGNABLE: Mapping[type, str] = {FunctionCall: "fc", CustomToolCall: "ctc"}
"""The types of such calls, with the prefixes of their ids."""

_PARTS = 2
"""Dots in a blob (`access/keyring.py`): some APIs accept none in a call's id."""


def item_of(call_id: str, prefix: str) -> str:
    """Return the id of the item of a call that is stored; `prefix` is that of its type's ids."""
    return prefix + call_id.removeprefix(SIGNED_CALL)


def stored_signature(call: Any) -> str | None:
    """Return the sealed signature that a call of one of these types has outside of its fields, None
    without one.
    """
    # `__dict__` would create a dict for each call that has none.
    blob: str | None = getattr(call, "sealed", None)
    return blob


def sign(item: Any, blob: str) -> None:
    """Add its sealed signature to a call, where no client sees it; items of other types have
    none.
    """
    if type(item) in SIGNABLE:
        item.__dict__["sealed"] = blob


def sealed_id(blob: str) -> str:
    """Return an id that contains the sealed signature of a call; empty without one, or if it is too
    long.
    """
    return SEALED_CALL + blob.replace(".", "-", _PARTS) if 0 < len(blob) <= LONGEST_SEALED else ""


def shortened(call_id: str) -> str:
    """Return a short id, always the same, for backends that did not write the signature in this
    one.
    """
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def signature_of(call: Any) -> str | None:
    """Return the sealed signature of a call: the one in its id, or the one that is stored with it.

    Some clients shorten ids to what OpenAI accepts (Roo-Code PR#10763): nothing is left in these.
    """
    call_id = getattr(call, "call_id", None)
    if isinstance(call_id, str) and len(call_id) > MAX_CALL_ID and call_id.startswith(SEALED_CALL):
        return call_id.removeprefix(SEALED_CALL).replace("-", ".", _PARTS)
    return stored_signature(call) if type(call) in SIGNABLE else None
