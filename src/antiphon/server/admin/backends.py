"""`/admin/v1/backends`: the state of the backends over all processes, and the profiles of their
models.
"""

from collections.abc import Sequence

from msgspec import to_builtins

from antiphon.gateway import Gateway, JsonObject
from antiphon.http_server.workers import Workers
from antiphon.server.admin.access import viewer
from antiphon.server.admin.audit import audit
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.resources.monitoring import status_topic

ALL = "/admin/v1/backends"
CHECK = f"{ALL}/{{backend:path}}/check"
"""A name can contain slashes."""

FOR_READERS = (
    *(
        "name",
        "dialect",
        "health",
        "rests_for",
        "in_flight",
        "concurrency",
        "waiting",
        "queue",
        "models",
        "loaded",
        "checked_ago",
        "next_check",
    ),
)
"""The fields of a backend that readers see. Errors and prompt changes may come from other tenants'
requests.
"""


def resources(gateway: Gateway, workers: Workers | None = None) -> Resources:
    """Return the endpoints by path; `workers` are the processes that serve the same port."""

    async def get_backends(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        others = await workers.others(status_topic(gateway)) if workers else []
        status: JsonObject = to_builtins(await gateway.status.of_all(others))
        if not caller.is_admin:
            displayed = [{name: one[name] for name in FOR_READERS} for one in status["backends"]]
            status = {"workers": status["workers"], "backends": displayed}
        return Reply({"object": "backends", **status, "profiles": gateway.status.profiles()})

    async def check_backend(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        caller.check_admin()
        name = http.path_params["backend"]
        await gateway.backend_checks.check(name)
        found = next(one for one in gateway.status.here().backends if one.name == name)
        audit("backend_checked", by=caller.key_id, backend=name, health=found.health)
        return Reply({"object": "backend", **to_builtins(found)})

    return {ALL: {"GET": get_backends}, CHECK: {"POST": check_backend}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", ALL, "Get the state of the backends"),
        Described("post", CHECK.replace(":path", ""), "Check a backend now"),
    )
