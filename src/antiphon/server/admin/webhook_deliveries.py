"""`/admin/v1/webhook_deliveries`: deliveries that wait or have failed, and another attempt."""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import DeliveriesQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def list_deliveries(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), DeliveriesQuery)
        is_failed = None if query.status is None else query.status == "failed"
        tenant = caller.tenant_of(query.tenant)
        found = await gateway.deliveries.page(
            tenant, query.limit + 1, query.after, is_failed=is_failed
        )
        return Reply(listed(found, query.limit))

    async def retry_delivery(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        caller.check_admin()
        delivery_id = http.path_params["delivery_id"]
        waiting = await gateway.deliveries.retry(delivery_id)
        audit("delivery_retried", by=caller.key_id, delivery_id=delivery_id)
        return Reply(waiting)

    return {
        "/admin/v1/webhook_deliveries": {"GET": list_deliveries},
        "/admin/v1/webhook_deliveries/{delivery_id}/retry": {"POST": retry_delivery},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/admin/v1/webhook_deliveries"
    return (
        Described("get", path, "List webhook deliveries", query=DeliveriesQuery),
        Described("post", f"{path}/{{delivery_id}}/retry", "Retry a webhook delivery"),
    )
