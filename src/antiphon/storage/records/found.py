"""What an id leads to."""

from collections.abc import Sequence

from msgspec import Struct

from antiphon.query.ids import Kind


class FoundObject(Struct, frozen=True):
    """An object of a tenant; `part` is the id of the item in it that was looked for, if any."""

    kind: Kind
    id: str
    tenant: str
    part: str | None = None


class FoundObjects(Struct, frozen=True):
    """What was found.

    `searched_since` is set if only responses since this time (milliseconds) were searched.
    """

    found: Sequence[FoundObject] = ()
    searched_since: int | None = None
