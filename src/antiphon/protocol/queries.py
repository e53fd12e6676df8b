"""What clients ask in the query of a URL (specification section 1). `include` may be written `include[]` too."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from antiphon.protocol.items.content import ItemId
from antiphon.protocol.requests import Include

IncludeList = Annotated[list[Include], Meta(max_length=64)]


class RetrieveQuery(Struct, kw_only=True):
    """`GET /responses/{id}`."""

    include: IncludeList = field(default_factory=list)


class InputItemsQuery(Struct, kw_only=True):
    """`GET /responses/{id}/input_items`: a page of at most `limit` items, newest first unless asked otherwise.

    `after` and `before` are ids of items; the page holds what stands after or before them in the order asked for.
    """

    after: ItemId | None = None
    before: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    order: Literal["asc", "desc"] = "desc"
    include: IncludeList = field(default_factory=list)


class StreamQuery(Struct, kw_only=True):
    """`GET /responses/{id}?stream=true`: the events after `starting_after`, all of them where it is absent."""

    starting_after: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    include_obfuscation: bool = True


class UsageQuery(Struct, kw_only=True):
    """`GET /usage`: the days from that of `start_time` to before `end_time`, in seconds since 1970."""

    start_time: Annotated[int, Meta(ge=0, le=2**40)] | None = None
    end_time: Annotated[int, Meta(ge=0, le=2**40)] | None = None


class EndpointsQuery(Struct, kw_only=True):
    """`GET /webhook_endpoints`: a page of at most `limit`, newest first; `after` is an endpoint's id."""

    after: ItemId | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
