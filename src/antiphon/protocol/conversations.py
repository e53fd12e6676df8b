"""What clients send to `/conversations` (specification section 1)."""

from typing import Annotated

from msgspec import Meta, Struct

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import Metadata


class CreateConversation(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /conversations`."""

    items: Annotated[list[InputItem], Meta(max_length=20, title="array of input items")] | None = None
    metadata: Metadata | None = None


class UpdateConversation(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /conversations/{id}`; `null` removes all metadata."""

    metadata: Metadata | None


class AddItems(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /conversations/{id}/items`."""

    items: Annotated[list[InputItem], Meta(min_length=1, max_length=20, title="array of input items")]
