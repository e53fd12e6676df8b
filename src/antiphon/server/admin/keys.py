"""`/admin/v1/keys`: API keys. Readers see those of their tenant; administrators see all, and change
them.
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import ChangeKey, CreateKey, RotateKey, TenantQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.protocol.validation.validate import decode_body
from antiphon.server.admin.access import Viewer, viewer
from antiphon.server.admin.audit import audit
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Keys(gateway)
    one = "/admin/v1/keys/{key_id}"
    return {
        "/admin/v1/keys": {"GET": api.list, "POST": api.create},
        one: {"POST": api.change, "DELETE": api.revoke},
        f"{one}/rotate": {"POST": api.rotate},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    one = "/admin/v1/keys/{key_id}"
    return (
        Described("get", "/admin/v1/keys", "List API keys", query=TenantQuery),
        Described("post", "/admin/v1/keys", "Create an API key", CreateKey),
        Described("post", one, "Change an API key", ChangeKey),
        Described("delete", one, "Revoke an API key"),
        Described("post", f"{one}/rotate", "Replace an API key", RotateKey),
    )


class _Keys:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._keys = gateway.keys

    async def list(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        tenant = caller.tenant_of(decode_query(http.query(), TenantQuery).tenant)
        return Reply(listed(await self._keys.list(tenant)))

    async def create(self, http: HttpRequest) -> Reply:
        caller = await self._admin(http)
        created = await self._keys.create(decode_body(await http.body(), CreateKey))
        audit(
            "key_created",
            by=caller.key_id,
            key_id=created["id"],
            tenant=created["tenant"],
            role=created["role"],
        )
        return Reply(created)

    async def change(self, http: HttpRequest) -> Reply:
        caller = await self._admin(http)
        body = await http.body()
        changed = await self._keys.change(_id(http), decode_body(body, ChangeKey))
        audit(
            "key_changed",
            by=caller.key_id,
            key_id=changed["id"],
            tenant=changed["tenant"],
            role=changed["role"],
        )
        return Reply(changed)

    async def rotate(self, http: HttpRequest) -> Reply:
        caller = await self._admin(http)
        created = await self._keys.rotate(_id(http), decode_body(await http.body(), RotateKey))
        audit("key_rotated", by=caller.key_id, key_id=created["id"], tenant=created["tenant"])
        return Reply(created)

    async def revoke(self, http: HttpRequest) -> Reply:
        caller = await self._admin(http)
        ended = await self._keys.revoke(_id(http))
        audit("key_revoked", by=caller.key_id, key_id=ended["id"], tenant=ended["tenant"])
        return Reply(ended)

    async def _admin(self, http: HttpRequest) -> Viewer:
        """Return the caller. Raises `ClientError` (403) unless it is an administrator."""
        caller = await viewer(http, self._gateway)
        caller.check_admin()
        return caller


def _id(http: HttpRequest) -> str:
    return http.path_params["key_id"]
