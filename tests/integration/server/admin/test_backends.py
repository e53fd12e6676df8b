"""Backends in the console."""

import asyncio
import logging
from typing import Any

import pytest

from antiphon.console.backend_checks import BackendChecks
from antiphon.storage.records.tenants import Role
from antiphon.translation.dialects.profile import ModelProfile
from tests.integration.server.admin.test_audit import lines
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer
from tests.support.signed_in import signed_in

BACKENDS = "/admin/v1/backends"


async def test_an_administrator_sees_what_the_status_shows(stateful: RunningServer) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    await admin.send_request("POST", "/v1/responses", {"model": "m", "input": "Hi"})
    reported: dict[str, Any] = (await admin.send_request("GET", BACKENDS)).json
    async with stateful.http.get(f"{stateful.url.removesuffix('/v1')}/status") as response:
        status = await response.json()

    assert {*reported} == {*status, "object", "profiles"}
    assert [one["name"] for one in reported["backends"]] == ["replay"]
    assert reported["storage"]["largest"][0]["tenant"] == "acme"


async def test_a_reader_sees_nothing_of_other_tenants(stateful: RunningServer) -> None:
    other = await signed_in(stateful, tenant="other")
    reader = await signed_in(stateful)
    await other.send_request("POST", "/v1/responses", {"model": "m", "input": "Hi"})
    answered = await reader.send_request("GET", BACKENDS)

    assert {*answered.json} == {"object", "workers", "backends", "profiles"}
    assert answered.json["backends"][0]["health"] == "up"
    assert not {"error", "last_error", "last_prompt_break"} & {*answered.json["backends"][0]}
    assert b"other" not in answered.body


async def test_known_facts_of_a_model_are_displayed(stateful: RunningServer) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    await stateful.parts.models.refresh()
    (state,) = stateful.parts.models.backends
    assert (await admin.send_request("GET", BACKENDS)).json["profiles"] == []
    name = state.models[0]["id"]
    state.update(measured={name: ModelProfile(context_window=4096)})

    profiles = (await admin.send_request("GET", BACKENDS)).json["profiles"]
    assert profiles == [{"backend": "replay", "model": name, "facts": {"context_window": 4096}}]


async def test_an_administrator_checks_a_backend_now(
    stateful: RunningServer, backend: ReplayBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "antiphon.audit")
    admin = await signed_in(stateful, Role.ADMIN)
    await stateful.parts.models.refresh()
    backend.models.append({"id": "pulled-since", "object": "model"})
    checked = (await admin.send_request("POST", f"{BACKENDS}/replay/check")).json

    assert checked["models"] == ["m", "pulled-since"]
    assert (checked["health"], checked["checked_ago"] < 5) == ("up", True)
    assert lines(caplog)[-1] | {"by": ""} == {
        "event": "backend_checked",
        "by": "",
        "backend": "replay",
        "health": "up",
    }
    assert (await admin.send_request("POST", f"{BACKENDS}/none/check")).status == 404


async def test_checks_at_the_same_time_query_the_backend_once(
    server: RunningServer, backend: ReplayBackend
) -> None:
    checks = BackendChecks(server.parts.models)
    before = backend.listings
    await asyncio.gather(*(checks.check("replay") for _ in range(20)))
    assert backend.listings == before + 1
    await checks.check("replay")
    assert backend.listings == before + 2


async def test_a_reader_checks_no_backend(stateful: RunningServer) -> None:
    reader = await signed_in(stateful)
    answered = await reader.send_request("POST", f"{BACKENDS}/replay/check")
    assert (answered.status, answered.code) == (403, "not_allowed")
