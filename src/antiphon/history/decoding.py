"""Decodes stored items: small sets at once, larger ones in slices with pauses for other requests,
or in a thread.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

import msgspec

from antiphon.errors import AntiphonError
from antiphon.protocol.items.calls import ShellCallOutput
from antiphon.protocol.items.hosted import (
    CodeInterpreterCall,
    FileSearchCall,
    ImageGenerationCall,
    McpApprovalRequest,
    McpCall,
    WebSearchCall,
)
from antiphon.protocol.items.messages import InputItem, Reasoning
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.sharing.offload import Offload
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.sizes import LARGE, MANY, STORED
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.signed_calls import sign

WITH_STATE = (
    *(Reasoning, McpCall, McpApprovalRequest, WebSearchCall, FileSearchCall),
    *(CodeInterpreterCall, ShellCallOutput, ImageGenerationCall),
)
"""Items with sealed content that only this server can read."""

FEW = MANY
"""Items in a slice: decoding them and adding them to a context takes less than five
milliseconds.
"""

FEW_BYTES = LARGE * STORED
"""Bytes at which a slice ends. A larger slice is decoded in a thread, and a larger item value by
value.
"""

UNSHARED = FairScheduler()
"""A turn that lets everything start at once: for programs without tenants."""

_decode = msgspec.json.Decoder(InputItem).decode


def load_item(stored: StoredItem) -> InputItem:
    """Return a stored item as it was, including `encrypted_content`."""
    return _with_state(_decode(stored.body), stored)


def _with_state(item: InputItem, stored: StoredItem) -> InputItem:
    if stored.sealed:
        if isinstance(item, WITH_STATE):
            item.encrypted_content = stored.sealed
        else:
            sign(item, stored.sealed)
    return item


async def load_few(
    stored: Sequence[StoredItem], offload: Offload | None, tenant: str
) -> list[InputItem]:
    """Return a slice of stored items as they were.

    Without `offload`, large ones are decoded here, too.
    """
    if offload is None:
        return _load(stored)
    size = sum([len(item.body) for item in stored])
    return await offload.run(tenant, size // STORED, _load, stored)


async def load_items(
    stored: Sequence[StoredItem], reads: FairScheduler, offload: Offload, tenant: str
) -> list[InputItem]:
    """Return stored items as they were."""
    items: list[InputItem] = []
    async for part in in_slices(stored, reads, tenant):
        items += await load_few(part, offload, tenant)
    return items


async def in_slices(
    stored: Sequence[StoredItem], reads: FairScheduler, tenant: str
) -> AsyncIterator[Sequence[StoredItem]]:
    """Yield the items in slices: one at once; several in the tenant's turn, each after a pause for
    other requests.
    """
    parts = list(_slices(stored))
    if len(parts) < 2:
        for part in parts:
            yield part
        return
    try:
        async with reads.slot(tenant):
            for part in parts:
                await asyncio.sleep(0)
                yield part
    except NoRoomError as error:
        text = (
            "The server is overloaded: too many long histories are being loaded. "
            "Please try again later."
        )
        raise AntiphonError.overloaded(text) from error


def _load(stored: Sequence[StoredItem]) -> list[InputItem]:
    return [
        load_item(item) if len(item.body) <= FEW_BYTES else _load_in_slices(item) for item in stored
    ]


def _load_in_slices(stored: StoredItem) -> InputItem:
    item = msgspec.convert(decode_in_slices(stored.body), InputItem)
    return _with_state(item, stored)


def _slices(stored: Sequence[StoredItem]) -> Iterator[Sequence[StoredItem]]:
    start = size = 0
    for place, item in enumerate(stored):
        size += len(item.body)
        if place + 1 - start == FEW or size >= FEW_BYTES:
            yield stored[start : place + 1]
            start = place + 1
            size = 0
    if start < len(stored):
        yield stored[start:]
