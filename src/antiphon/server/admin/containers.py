"""`/admin/v1/containers`: the containers of a tenant, or of all, with their files. `/v1` changes
the files.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import ListContainersQuery, TenantQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit, audit_reading
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ONE = "/admin/v1/containers/{container_id}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Containers(gateway)
    return {
        "/admin/v1/containers": {"GET": api.list},
        ONE: {"GET": api.retrieve, "DELETE": api.kill},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/admin/v1/containers"
    return (
        Described("get", path, "List containers", query=ListContainersQuery),
        Described("get", ONE, "Get a container with its files", query=TenantQuery),
        Described("delete", ONE, "Kill a container", query=TenantQuery),
    )


class _Containers:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def list(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        query = decode_query(http.query(), ListContainersQuery)
        found = await self._gateway.container_reader.page(caller.tenant_of(query.tenant), query)
        audit_reading(caller, {one["tenant"] or "" for one in found["data"]}, "containers")
        return Reply(found)

    async def retrieve(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        tenant = caller.own_tenant_of(decode_query(http.query(), TenantQuery).tenant)
        found = await self._gateway.container_reader.retrieve(
            tenant, http.path_params["container_id"]
        )
        audit_reading(caller, {tenant}, "container", container_id=found["id"])
        return Reply(found)

    async def kill(self, http: HttpRequest) -> Reply:
        """Delete a container. The worker with its kernel ends it, also while a call runs.

        Without the role `admin` the tenant is the caller's own, which may delete it by `/v1` too.
        """
        caller = await viewer(http, self._gateway)
        tenant = caller.own_tenant_of(decode_query(http.query(), TenantQuery).tenant)
        container_id = http.path_params["container_id"]
        deleted = await self._gateway.containers.delete(tenant, container_id)
        audit("container_killed", key_id=caller.key_id, tenant=tenant, container_id=container_id)
        return Reply(deleted)
