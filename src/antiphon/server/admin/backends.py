"""`/admin/v1/backends`: the state of the backends over all processes, and the profiles of their
models.
"""

from collections.abc import Sequence

from msgspec import to_builtins

from antiphon.gateway import Gateway, JsonObject
from antiphon.http_server.workers import Workers
from antiphon.server.admin.access import viewer
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.resources.monitoring import status_topic

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

    return {"/admin/v1/backends": {"GET": get_backends}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (Described("get", "/admin/v1/backends", "Get the state of the backends"),)
