"""How a model of llama.cpp is offered tools, as its server reports it before the first request."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon.errors import BackendError
from antiphon.upstream.backend import Listing, Reply
from antiphon.upstream.registry import ModelRegistry
from tests.support.parts import Listed

BLIND, SEEING = (
    {"chat_template": "t", "chat_template_caps": {"supports_tools": able}} for able in (False, True)
)


async def body_of(report: Any) -> AsyncIterator[bytes]:
    yield json.dumps(report).encode()


class Reporting(Listed):
    """A server of llama.cpp with these models and these properties; None where it does not
    answer.
    """

    def __init__(self, properties: Any, *models: str) -> None:
        super().__init__("llama", models or ["m"])
        self.properties = properties
        self.reports = 0
        self.meta = {"n_params": 8}

    async def get(self, path: str) -> Reply:
        assert path == "/../props"
        self.reports += 1
        if self.properties is None:
            raise BackendError("It does not answer.", status=503)
        return Reply(200, {}, body_of(self.properties))

    async def list_models(self) -> Listing:
        listed = await super().list_models()
        return Listing(
            [{**model, "owned_by": "llamacpp", "meta": self.meta} for model in listed.models]
        )


async def known(server: Reporting) -> ModelRegistry:
    registry = ModelRegistry([server], lambda: 100.0)
    await registry.refresh()
    return registry


async def tools(registry: ModelRegistry, model: str = "m") -> str:
    return (await registry.find(model)).dialect.tools


@pytest.mark.parametrize(
    ("properties", "form"),
    [(BLIND, "prompt"), (SEEING, "native"), ({}, "native"), (None, "native"), ([BLIND], "native")],
    ids=["no tools", "tools", "no word", "no answer", "a list"],
)
async def test_a_template_that_renders_no_tools_has_them_in_the_prompt(
    properties: Any, form: str
) -> None:
    assert await tools(await known(Reporting(properties))) == form


async def test_it_is_queried_once_as_long_as_it_has_the_same_model() -> None:
    server = Reporting(BLIND)
    registry = await known(server)
    await registry.refresh()
    assert server.reports == 1

    server.meta = {"n_params": 9}
    server.properties = SEEING
    await registry.refresh()
    assert (await tools(registry), server.reports) == ("native", 2)


async def test_it_is_queried_again_after_an_outage() -> None:
    server = Reporting(BLIND)
    registry = await known(server)
    server.models = None
    await registry.refresh()
    assert await tools(registry) == "prompt"

    server.models = ["m"]
    server.properties = SEEING
    await registry.refresh()
    assert await tools(registry) == "native"


async def test_it_is_queried_until_it_answers() -> None:
    server = Reporting(None)
    registry = await known(server)
    server.properties = BLIND
    await registry.refresh()

    assert await tools(registry) == "prompt"


async def test_a_report_is_about_no_model_where_there_are_several() -> None:
    server = Reporting(BLIND, "m", "n")

    assert (await tools(await known(server)), server.reports) == ("native", 0)
