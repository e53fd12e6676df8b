"""The page of endpoints, the routes and `/openapi.json` name the same."""

import json
import re

from antiphon.gateway import Gateway
from antiphon.server.application import resources
from antiphon.server.resources import openapi
from tests.support.pages import table

LISTED = {endpoint for endpoint, _ in table("endpoints", "Endpoint", "What it does")}


def test_every_route_has_its_row_and_every_row_its_route(served) -> None:
    routes = {
        f"{method} {re.sub(':path', '', path)}"
        for one in resources(Gateway(served.engine), served.endpoints)
        for path, methods in one.items()
        for method in methods
    }
    assert routes - {"GET /v1/responses"} == LISTED  # that one only refuses WebSockets


def test_the_openapi_description_has_the_same_endpoints() -> None:
    described = {f"{method.upper()} {path}" for path, item in openapi.describe()["paths"].items() for method in item}
    assert described == LISTED


async def test_every_endpoint_answers(served) -> None:
    for endpoint in LISTED:
        method, path = endpoint.split()
        url = served.url.removesuffix("/v1") + re.sub(r"\{.*?\}", "x", path)
        async with served.http.request(method, url, data=b"{" if method == "POST" else None) as response:
            body = await response.text()
            error = json.loads(body).get("error", {}) if response.content_type == "application/json" else {}
            assert error.get("code") not in {"unknown_url", "method_not_supported"}
