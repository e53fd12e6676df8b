"""Backends in the console."""

from typing import Any

from antiphon.storage.records.tenants import Role
from antiphon.translation.dialects.profile import ModelProfile
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
