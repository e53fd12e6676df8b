"""`/admin/v1/figures`: counts, tokens, cost and durations of responses."""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.console import FiguresParameters
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""

    async def get_figures(http: HttpRequest) -> Reply:
        caller = await viewer(http, gateway)
        query = decode_query(http.query(), FiguresParameters, "since", "until", "step", "series")
        return Reply(await gateway.console.figures(caller.tenant_of(query.tenant), query))

    return {"/admin/v1/figures": {"GET": get_figures}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("get", "/admin/v1/figures", "Get figures of responses", query=FiguresParameters),
    )
