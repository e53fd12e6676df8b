"""`/`: what runs here, as a page for a browser and as a few lines of JSON for a program.

Nobody needs a key for it, so it says nothing that only a key's owner may know: models are shown where the server needs
no key, and the address of a backend never is. Only a request for the page loads what makes it.
"""

from antiphon.gateway import Gateway
from antiphon.server.reply import Reply, Resources, json_reply
from antiphon.server.request import HttpRequest
from antiphon.server.resources.operations import is_local
from antiphon.version import __version__


def resources(gateway: Gateway, *, has_metrics: bool = True) -> Resources:
    """Return what is served under which path."""

    async def get_home(http: HttpRequest) -> Reply:
        if b"text/html" not in http.headers.get(b"accept", b""):
            about = {"name": "Antiphon", "version": __version__, "openapi": "/openapi.json", "models": "/v1/models"}
            return json_reply(about)
        from antiphon.server.resources.home_page import HEADERS, page  # noqa: PLC0415 - for browsers alone

        is_open = not await gateway.known_keys.are_needed()
        is_healthy = gateway.takes_work and await gateway.store_answers() and await gateway.backend_answers()
        models = [model["id"] for model in gateway.known_models()] if is_open else None
        body = page(models, is_healthy=is_healthy, has_metrics=has_metrics, is_local=is_local(http.scope))
        return Reply(200, HEADERS, body)

    return {"/": {"GET": get_home}}
