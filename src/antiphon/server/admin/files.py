"""`/admin/v1/files` and `/admin/v1/vector_stores`: those of a tenant, or of all. `/v1` changes and
searches them.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import ListFilesQuery, ListStoresQuery, TenantQuery
from antiphon.protocol.files import FilesQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.protocol.validation.vector_stores import STORE, check_id
from antiphon.protocol.vector_stores import StoreFilesQuery, VectorStoresQuery
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit_reading
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ONE = "/admin/v1/vector_stores/{vector_store_id}"
ONE_FILE = "/admin/v1/files/{file_id}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Lists(gateway)
    return {
        "/admin/v1/files": {"GET": api.files},
        ONE_FILE: {"GET": api.file},
        "/admin/v1/vector_stores": {"GET": api.stores},
        ONE: {"GET": api.store},
        f"{ONE}/files": {"GET": api.store_files},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    stores = "/admin/v1/vector_stores"
    return (
        Described("get", "/admin/v1/files", "List files", query=ListFilesQuery),
        Described("get", ONE_FILE, "Get a file", query=TenantQuery),
        Described("get", stores, "List vector stores", query=ListStoresQuery),
        Described("get", ONE, "Get a vector store", query=TenantQuery),
        Described("get", f"{ONE}/files", "List files with their names", query=ListStoresQuery),
    )


class _Lists:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def files(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        query = decode_query(http.query(), ListFilesQuery)
        wanted = FilesQuery(after=query.after or None, limit=query.limit, purpose=query.purpose)
        found = await self._gateway.file_lists.files(caller.tenant_of(query.tenant), wanted)
        audit_reading(caller, {one["tenant"] or "" for one in found["data"]}, "files")
        return Reply(found)

    async def file(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        tenant = caller.own_tenant_of(decode_query(http.query(), TenantQuery).tenant)
        found = await self._gateway.file_lists.file(tenant, http.path_params["file_id"])
        audit_reading(caller, {tenant}, "file", file_id=found["id"])
        return Reply(found)

    async def stores(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        query = decode_query(http.query(), ListStoresQuery)
        wanted = VectorStoresQuery(after=query.after or None, limit=query.limit)
        found = await self._gateway.file_lists.stores(caller.tenant_of(query.tenant), wanted)
        audit_reading(caller, {one["tenant"] or "" for one in found["data"]}, "vector_stores")
        return Reply(found)

    async def store(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        tenant = caller.own_tenant_of(decode_query(http.query(), TenantQuery).tenant)
        found = await self._gateway.file_lists.store(tenant, _id(http))
        audit_reading(caller, {tenant}, "vector_store", vector_store_id=found["id"])
        return Reply(found)

    async def store_files(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        query = decode_query(http.query(), ListStoresQuery)
        tenant = caller.own_tenant_of(query.tenant)
        store_id = _id(http)
        wanted = StoreFilesQuery(after=query.after or None, limit=query.limit)
        found = await self._gateway.file_lists.store_files(tenant, store_id, wanted)
        audit_reading(caller, {tenant}, "vector_store_files", vector_store_id=store_id)
        return Reply(found)


def _id(http: HttpRequest) -> str:
    return check_id(http.path_params["vector_store_id"], "vector_store_id", STORE)
