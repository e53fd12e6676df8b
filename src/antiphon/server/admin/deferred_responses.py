"""`/admin/v1/deferred_responses`: background responses that wait for an idle slot."""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import DeferredQuery, TenantQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit, audit_reading
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ALL = "/admin/v1/deferred_responses"
CANCEL = f"{ALL}/{{response_id}}/cancel"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def list_deferred(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), DeferredQuery)
        found = await gateway.deferred.page(caller.tenant_of(query.tenant), query)
        audit_reading(caller, {one["tenant"] or "" for one in found["data"]}, "deferred_responses")
        return Reply(found)

    async def cancel_deferred(http: HttpRequest) -> Reply:
        """Without the role `admin` the tenant is the caller's own, which may cancel it by `/v1`
        too.
        """
        caller = await viewer(http, gateway)
        tenant = caller.own_tenant_of(decode_query(http.query(), TenantQuery).tenant)
        response_id = http.path_params["response_id"]
        cancelled = await gateway.queue.cancel(tenant, response_id)
        audit("response_cancelled", by=caller.key_id, tenant=tenant, response_id=response_id)
        return Reply({name: cancelled[name] for name in ("id", "object", "status")})

    return {ALL: {"GET": list_deferred}, CANCEL: {"POST": cancel_deferred}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", ALL, "List deferred responses that wait", query=DeferredQuery),
        Described("post", CANCEL, "Cancel a deferred response", query=TenantQuery),
    )
