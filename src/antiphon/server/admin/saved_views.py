"""`/admin/v1/views`: the saved views of the caller: of its API key, or of the operator."""

from collections.abc import Sequence

from msgspec import to_builtins

from antiphon.gateway import Gateway
from antiphon.protocol.saved_views import SavedView, SaveView
from antiphon.protocol.validation.validate import decode_body
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ALL = "/admin/v1/views"
ONE = f"{ALL}/{{view_id}}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def list_views(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        return Reply(listed(to_builtins(await gateway.saved_views.list(caller.key_id))))

    async def save_view(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        request = decode_body(await http.body(), SaveView)
        saved = await gateway.saved_views.save(caller.key_id, request)
        audit("view_saved", by=caller.key_id, view_id=saved.id)
        return Reply(saved)

    async def delete_view(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        view_id = http.path_params["view_id"]
        deleted = await gateway.saved_views.delete(caller.key_id, view_id)
        audit("view_deleted", by=caller.key_id, view_id=view_id)
        return Reply(deleted)

    return {ALL: {"GET": list_views, "POST": save_view}, ONE: {"DELETE": delete_view}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", ALL, "List your saved views of the console"),
        Described("post", ALL, "Save a view of the console", SaveView, reply=SavedView),
        Described("delete", ONE, "Delete a saved view of the console"),
    )
