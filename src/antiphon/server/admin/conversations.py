"""`/admin/v1/conversations`: the conversations of a tenant, or of all. `/v1/conversations` has
their items.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import ConversationsQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit_reading
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def list_conversations(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), ConversationsQuery)
        tenant = caller.tenant_of(query.tenant)
        found = await gateway.conversations.list(tenant, query.limit + 1, query.after)
        displayed = listed(found, query.limit)
        audit_reading(caller, {one["tenant"] or "" for one in displayed["data"]}, "conversations")
        return Reply(displayed)

    return {"/admin/v1/conversations": {"GET": list_conversations}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", "/admin/v1/conversations", "List conversations", query=ConversationsQuery),
    )
