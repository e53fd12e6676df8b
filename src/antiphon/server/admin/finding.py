"""`/admin/v1/find` and `/admin/v1/suggestions`: what an id leads to, and completions of filters."""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import FindQuery, SuggestionsQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def find(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), FindQuery)
        return Reply(await gateway.finder.find(caller.tenant_of(None), query.id))

    async def suggest(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), SuggestionsQuery, "since")
        tenant = caller.tenant_of(query.tenant)
        return Reply(await gateway.finder.suggestions(tenant, query.q, query.since))

    return {"/admin/v1/find": {"GET": find}, "/admin/v1/suggestions": {"GET": suggest}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", "/admin/v1/find", "Find what an ID leads to", query=FindQuery),
        Described("get", "/admin/v1/suggestions", "Complete a filter", query=SuggestionsQuery),
    )
