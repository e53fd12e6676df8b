"""Bodies and queries of `/admin/v1`, the API of the console."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from antiphon.protocol.items.content import ItemId
from antiphon.protocol.requests import ModelName
from antiphon.protocol.resources import ResponsesQuery

RoleName = Literal["use", "read", "admin"]

KeyName = Annotated[str, Meta(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)", title="a name")]

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]

Amount = Annotated[str, Meta(min_length=1, max_length=40)] | Annotated[float, Meta(gt=0)]
"""An amount of the currency: `"12.50"`, exact, or a number."""

Lifetime = Annotated[int, Meta(ge=60, le=36_500 * 86_400)]
"""Seconds."""

Models = Annotated[list[ModelName], Meta(max_length=1000)]

Limit = Annotated[int, Meta(ge=1, le=100)]

TenantName = Annotated[
    str, Meta(max_length=256, pattern=r"^[^\x00]*$(?!\n)", title="the name of a tenant")
]


class SignIn(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /admin/v1/session`: one of the two."""

    key: Annotated[str, Meta(max_length=1000)] | None = None
    """An API key."""
    code: Annotated[str, Meta(max_length=1000)] | None = None
    """The one-time code of a link that `antiphon console` printed."""


class CreateKey(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /admin/v1/keys`. `null` means no limit."""

    name: KeyName = ""
    tenant: str = "default"
    role: RoleName = "use"
    models: Models = field(default_factory=list)
    """Models that the key allows; empty means all."""
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    tokens_per_day: Count | None = None
    concurrency: Count | None = None
    budget_per_day: Amount | None = None
    budget_per_month: Amount | None = None
    cache: bool = False
    """Whether the cache answers requests by default."""
    expires_in: Lifetime | None = None
    """Seconds until the key expires; `null` means never."""


class ChangeKey(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /admin/v1/keys/{key_id}`: the changes.

    `null` removes a limit, or the expiry.
    """

    name: KeyName | UnsetType = UNSET
    role: RoleName | UnsetType = UNSET
    models: Models | UnsetType = UNSET
    requests_per_minute: Count | UnsetType | None = UNSET
    tokens_per_minute: Count | UnsetType | None = UNSET
    tokens_per_day: Count | UnsetType | None = UNSET
    concurrency: Count | UnsetType | None = UNSET
    budget_per_day: Amount | UnsetType | None = UNSET
    budget_per_month: Amount | UnsetType | None = UNSET
    cache: bool | UnsetType = UNSET
    expires_in: Lifetime | UnsetType | None = UNSET


class RotateKey(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /admin/v1/keys/{key_id}/rotate`; it can be empty."""

    keep_old_for: Annotated[int, Meta(ge=0, le=720 * 3600)] = 0
    """Seconds for which the old key still works."""


class TenantQuery(Struct, kw_only=True):
    """`GET /admin/v1/keys`: the keys of a tenant.

    By default an administrator sees all tenants, others their own.
    """

    tenant: TenantName | None = None


class ConversationsQuery(Struct, kw_only=True):
    """`GET /admin/v1/conversations`: a page of at most `limit`, newest first; `after` is a
    conversation's id.
    """

    after: ItemId = ""
    limit: Limit = 20
    tenant: TenantName | None = None


class ConversationItemsQuery(Struct, kw_only=True):
    """`GET /admin/v1/conversations/{id}/items`: a page of at most `limit`, newest first by default;
    `after` is an item's id.
    """

    after: ItemId | None = None
    limit: Limit = 20
    order: Literal["asc", "desc"] = "desc"


class ListFilesQuery(Struct, kw_only=True):
    """`GET /admin/v1/files`: a page of at most `limit`, newest first; `after` is a file's id."""

    after: ItemId = ""
    limit: Limit = 20
    purpose: Annotated[str, Meta(max_length=64)] | None = None
    tenant: TenantName | None = None


class ListStoresQuery(Struct, kw_only=True):
    """`GET /admin/v1/vector_stores`, and the files of one: a page of at most `limit`, newest first.

    `after` is the id of the vector store or file before the page.
    """

    after: ItemId = ""
    limit: Limit = 20
    tenant: TenantName | None = None


class ListContainersQuery(Struct, kw_only=True):
    """`GET /admin/v1/containers`: a page of at most `limit`, newest first; `after` is a container's
    id.
    """

    after: ItemId = ""
    limit: Limit = 20
    tenant: TenantName | None = None


class DeliveriesQuery(Struct, kw_only=True):
    """`GET /admin/v1/webhook_deliveries`: a page of at most `limit`, newest first; `after` is a
    delivery's id.
    """

    after: ItemId = ""
    limit: Limit = 20
    status: Literal["pending", "failed"] | None = None
    tenant: TenantName | None = None


class DeferredQuery(Struct, kw_only=True):
    """`GET /admin/v1/deferred_responses`: a page of at most `limit`, oldest first; `after` is a
    response's id.
    """

    after: ItemId = ""
    limit: Limit = 20
    tenant: TenantName | None = None


class LessonsQuery(Struct, kw_only=True):
    """`GET /admin/v1/lessons`: a page of at most `limit`, newest first; `after` is a lesson's
    id.
    """

    after: ItemId = ""
    limit: Limit = 20


class SaveReport(Struct, kw_only=True):
    """The body of `POST /admin/v1/reports`: a report written by `antiphon verify --json`, with more
    fields.
    """

    version: str
    base_url: str
    model: str
    started_at: int
    seconds: float
    requests: int
    results: list[dict[str, Any]]


class MatrixQuery(Struct, kw_only=True):
    """`GET /admin/v1/reports/matrix`: `ids` are report ids, separated by commas."""

    ids: Annotated[str, Meta(max_length=1000)] = ""


class AdminResponsesQuery(ResponsesQuery, kw_only=True):
    """`GET /admin/v1/responses`: the list of responses of all tenants; `tenant` names one of
    them.
    """

    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    tenant: TenantName | None = None


class ExportQuery(Struct, kw_only=True):
    """`GET /admin/v1/responses/export`: all responses that match, as a file."""

    format: Literal["csv", "jsonl"] = "csv"
    q: str | None = None
    tenant: TenantName | None = None


class FindQuery(Struct, kw_only=True):
    """`GET /admin/v1/find`: the id of a response, request, item, call, conversation, file, vector
    store or container.
    """

    id: Annotated[
        str, Meta(min_length=1, max_length=512, pattern=r"^[^\x00]*$(?!\n)", title="an ID")
    ]


class EventsQuery(Struct, kw_only=True):
    """`GET /admin/v1/responses/{response_id}/events`: at most `limit` events after the number
    `after`.
    """

    after: Annotated[int, Meta(ge=-1, le=2**62)] = -1
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class StepsQuery(Struct, kw_only=True):
    """`GET /admin/v1/responses/{response_id}/steps`: at most `limit` steps of an agent after the
    place `after`.
    """

    after: Annotated[int, Meta(ge=-2, le=2**31)] = -2
    limit: Annotated[int, Meta(ge=1, le=200)] = 200


Moment = Annotated[int, Meta(ge=0, le=253_402_300_800)]
"""Seconds since the epoch."""


class SuggestionsQuery(Struct, kw_only=True):
    """`GET /admin/v1/suggestions`: completions of the term `q`, with counts of responses since
    `since`.
    """

    q: Annotated[str, Meta(max_length=1000)] = ""
    since: Moment = 0
    tenant: TenantName | None = None


class FiguresParameters(Struct, kw_only=True):
    """`GET /admin/v1/figures`: figures of responses that began from `since` to `until`, by spans of
    `step` seconds.

    The default is the last hour. `step` is a multiple of 60; `by` adds one more grouping.
    """

    q: str | None = None
    tenant: TenantName | None = None
    since: Moment | None = None
    until: Moment | None = None
    step: Annotated[int, Meta(ge=60, le=31 * 86_400)] | None = None
    by: Literal["model", "backend", "key", "tenant"] | None = None
    series: Annotated[int, Meta(ge=0, le=20)] = 0
    """How many of the most expensive groups to return over time too."""
