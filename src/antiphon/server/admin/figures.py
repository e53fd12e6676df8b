"""`/admin/v1/figures`: how many responses there were, their tokens, their cost, and how long they took."""

from antiphon.gateway import Gateway
from antiphon.protocol.console import FiguresParameters
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import viewer
from antiphon.server.reply import Reply, Resources, json_reply
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return what is served under which path."""

    async def get_figures(http: HttpRequest) -> Reply:
        caller, query = (
            await viewer(http, gateway),
            decode_query(http.query(), FiguresParameters, "since", "until", "step"),
        )
        return json_reply(await gateway.console.figures(caller.tenant_of(query.tenant), query))

    return {"/admin/v1/figures": {"GET": get_figures}}
