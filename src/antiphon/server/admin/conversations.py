"""`/admin/v1/conversations`: the conversations of a tenant, or of all, and their items with the
responses that added them.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import ConversationItemsQuery, ConversationsQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit_reading
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ITEMS = "/admin/v1/conversations/{conversation_id}/items"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def list_conversations(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), ConversationsQuery)
        tenant = caller.tenant_of(query.tenant)
        found = await gateway.conversation_views.list(tenant, query.limit + 1, query.after)
        displayed = listed(found, query.limit)
        audit_reading(caller, {one["tenant"] or "" for one in displayed["data"]}, "conversations")
        return Reply(displayed)

    async def list_items(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), ConversationItemsQuery)
        conversation_id = http.path_params["conversation_id"]
        found = await gateway.conversation_views.items(
            caller.tenant_of(None), conversation_id, query
        )
        audit_reading(caller, [found["tenant"]], "conversation", conversation_id=conversation_id)
        return Reply(found)

    return {
        "/admin/v1/conversations": {"GET": list_conversations},
        ITEMS: {"GET": list_items},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", "/admin/v1/conversations", "List conversations", query=ConversationsQuery),
        Described(
            "get",
            ITEMS,
            "List a conversation's items with the responses that added them",
            query=ConversationItemsQuery,
        ),
    )
