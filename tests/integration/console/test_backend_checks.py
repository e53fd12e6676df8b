"""Checks of a backend on request: its list of models alone decides whether it is available."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from antiphon.console import backend_checks
from antiphon.console.backend_checks import BackendChecks
from antiphon.upstream.backend import Listing, Reply
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend


class SilentBackend(ScriptedBackend):
    """A server that answers nothing but a query of its models, and possibly not even that."""

    def __init__(self, *, lists: bool = True) -> None:
        super().__init__([], models=["m"])
        self._lists = lists

    async def list_models(self) -> Listing:
        return await super().list_models() if self._lists else await forever()

    async def get(self, path: str) -> Reply:
        return await forever()  # type: ignore[no-any-return]

    async def post(self, path: str, body: bytes) -> Reply:
        return await forever()  # type: ignore[no-any-return]


async def forever() -> Any:
    await asyncio.Event().wait()


async def checked(
    backend: SilentBackend, dialect: str, options: Mapping[str, BackendOptions] | None = None
) -> BackendState:
    """The state of a backend after a check."""
    models = ModelRegistry([backend], time.monotonic, {backend.name: dialect}, options)
    await BackendChecks(models).check(backend.name)
    return models.backends[0]


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_checks, "LONGEST", 0.05)


@pytest.mark.parametrize(
    ("dialect", "api"), [("vllm", "chat"), ("generic", "probe")], ids=["load", "probe"]
)
async def test_a_backend_that_lists_its_models_and_reports_nothing_else_is_available(
    dialect: str, api: Any
) -> None:
    state = await checked(SilentBackend(), dialect, {"scripted": BackendOptions(api=api)})

    assert ([one["id"] for one in state.models], state.error) == (["m"], "")


async def test_a_backend_that_does_not_list_its_models_in_time_is_reported() -> None:
    state = await checked(SilentBackend(lists=False), "vllm")

    assert "did not list its models within" in state.error
