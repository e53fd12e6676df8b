"""The page of endpoints, the routes and `/openapi.json` name the same."""

import json
import re

from antiphon.gateway import Gateway
from antiphon.server.application import console_resources, later_resources, resources
from antiphon.server.resources import openapi
from tests.support.pages import table

LISTED = {endpoint for endpoint, _ in table("endpoints", "Endpoint", "What it does")}


def test_every_route_has_its_row_and_every_row_its_route(server) -> None:
    gateway = Gateway(server.parts)
    parts = [*resources(gateway, server.endpoints)]
    later = {**later_resources(gateway), **console_resources(gateway)}
    parts += [part for load in later.values() for part in load()]
    routes = {
        f"{method} {re.sub(':path', '', path)}"
        for one in parts
        for path, methods in one.items()
        for method in methods
    }
    assert routes == LISTED, "correct docs/reference/endpoints.md"


def test_the_openapi_description_has_the_same_endpoints() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, item in openapi.describe()["paths"].items()
        for method in item
    }
    assert described == LISTED, "correct `described` of the resource in src/antiphon/server/"


async def test_every_endpoint_answers(server) -> None:
    for endpoint in LISTED:
        method, path = endpoint.split()
        url = server.url.removesuffix("/v1") + re.sub(r"\{.*?\}", "x", path)
        async with server.http.request(
            method, url, data=b"{" if method == "POST" else None
        ) as response:
            has_error = (
                response.content_type == "application/json"
            )  # a stream of changes has no end to wait for
            error = json.loads(await response.text()).get("error", {}) if has_error else {}
            assert error.get("code") not in {"unknown_url", "method_not_supported"}
