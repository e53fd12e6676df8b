"""`GET /v1/usage`: the usage of keys, grouped by key and day or other fields, and the stored bytes
of the tenant.
"""

from collections.abc import Sequence

from antiphon.errors import ClientError
from antiphon.gateway import Gateway, JsonObject, Role, UsageFound, usage_object
from antiphon.protocol.resources import UsageQuery
from antiphon.protocol.validation.queries import decode_usage_query
from antiphon.server.described import Described
from antiphon.server.reply import JSON, Reply, Resources, encode_json
from antiphon.server.request import OPERATOR, HttpRequest
from antiphon.sizes import ROW

DAY = 86_400

DAYS = 30
"""Days in the reply by default: today and the days before."""

ALL = "*"
"""As `tenant` of a query: all tenants."""


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def get_usage(http: HttpRequest) -> Reply:
        query = decode_usage_query(http.query())
        begin, end = span(query, gateway.now())
        if query.tenant is None or query.tenant == http.tenant:
            found = await gateway.usage.find(http.tenant, begin, end, query.group_by)
            stored = await gateway.usage.stored(http.tenant)
            storage = {
                "object": "usage.storage",
                "stored_bytes": stored.size,
                "max_stored_bytes": stored.most or None,
            }
            return await _listed(gateway, http, found, {"storage": storage})
        await _check_admin(http)
        found = await gateway.usage.find(
            None if query.tenant == ALL else query.tenant, begin, end, query.group_by
        )
        return await _listed(gateway, http, found, {})

    return {"/v1/usage": {"GET": get_usage}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (Described("get", "/v1/usage", "List usage", query=UsageQuery),)


def span(query: UsageQuery, now: float) -> tuple[int, int]:
    """Return the first second of the requested range, and the first second after it."""
    end = int(now) + 1 if query.end_time is None else query.end_time
    begin = (
        (end - 1) // DAY * DAY - (DAYS - 1) * DAY if query.start_time is None else query.start_time
    )
    return begin // DAY * DAY, end


async def _check_admin(http: HttpRequest) -> None:
    """Raise `ClientError` (403) unless the request has the key of an administrator, or the
    operator's session.
    """
    if OPERATOR in http.scope:
        return
    key = await http.key()
    if key is None or key.role is not Role.ADMIN:
        text = (
            "This API key may not read the usage of other tenants. Use a key with the role `admin`."
        )
        raise ClientError(text, status=403, code="not_allowed", param="tenant")


async def _listed(
    gateway: Gateway, http: HttpRequest, found: UsageFound, more: JsonObject
) -> Reply:
    """Return the reply with this usage; many rows are encoded in a thread."""

    def encode() -> bytes:
        rest = (
            {} if found.rest is None else {"rest": usage_object(found.rest, gateway.usage.currency)}
        )
        data = [usage_object(row, gateway.usage.currency) for row in found.rows]
        return encode_json({"object": "list", "data": data, **rest, **more})

    return Reply(await gateway.offload(http.tenant, len(found.rows) * ROW, encode), JSON)
