"""Encodes items as they are stored; `decoding.py` is the way back."""

import msgspec

from antiphon.access.credentials import item_without_credentials
from antiphon.history.decoding import WITH_STATE
from antiphon.protocol.items.content import Item
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.json_pieces import pieces
from antiphon.sizes import LARGE
from antiphon.storage.records.responses import StoredItem
from antiphon.translation.signed_calls import SIGNABLE, stored_signature

_encode = msgspec.json.Encoder().encode


def store_item(item: Item, sealed: str | None = None, size: int = 0) -> StoredItem:
    """Return an item as it is stored; `encrypted_content` is stored separately, except for a
    compaction.

    `size` are the bytes of the whole to which it belongs: of large data each item can be large.
    """
    if isinstance(item, WITH_STATE) and item.encrypted_content:
        sealed = item.encrypted_content
        item = msgspec.structs.replace(item, encrypted_content=msgspec.UNSET)
    if type(item) in SIGNABLE:
        sealed = sealed or stored_signature(item)
    stored = item_without_credentials(item)
    image = None
    if type(stored) is ImageGenerationCall:
        from antiphon.protocol.stored_images import as_stored  # noqa: PLC0415 - few items are images

        stored, image = as_stored(stored)
    if size <= LARGE:  # not `encoded`: each item of a small response would pay for the call
        body = _encode(stored)
    else:
        body = b"".join(pieces(msgspec.to_builtins(stored), _encode))
    if image is None:
        return StoredItem(str(item.id), body, sealed)
    return StoredItem(str(item.id), body, sealed, image.blob, image.size)
