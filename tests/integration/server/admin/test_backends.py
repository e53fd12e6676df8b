"""Backends in the console."""

from typing import Any

from antiphon.storage.records.tenants import Role
from antiphon.translation.dialects.profile import ModelProfile
from tests.support.server import Served
from tests.support.signed_in import signed_in

BACKENDS = "/admin/v1/backends"


async def test_an_administrator_sees_what_the_status_shows(stateful: Served) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    await admin.ask("POST", "/v1/responses", {"model": "m", "input": "Hi"})
    told: dict[str, Any] = (await admin.ask("GET", BACKENDS)).json
    async with stateful.http.get(f"{stateful.url.removesuffix('/v1')}/status") as response:
        status = await response.json()

    assert {*told} == {*status, "object", "profiles"}
    assert [one["name"] for one in told["backends"]] == ["replay"]
    assert told["storage"]["largest"][0]["tenant"] == "acme"


async def test_a_reader_sees_nothing_of_other_tenants(stateful: Served) -> None:
    other, reader = await signed_in(stateful, tenant="other"), await signed_in(stateful)
    await other.ask("POST", "/v1/responses", {"model": "m", "input": "Hi"})
    answered = await reader.ask("GET", BACKENDS)

    assert {*answered.json} == {"object", "workers", "backends", "profiles"}
    assert answered.json["backends"][0]["health"] == "up"
    assert not {"error", "last_error", "last_prompt_break"} & {*answered.json["backends"][0]}
    assert b"other" not in answered.body


async def test_what_is_known_of_a_model_is_shown(stateful: Served) -> None:
    admin = await signed_in(stateful, Role.ADMIN)
    await stateful.parts.models.refresh()
    (state,) = stateful.parts.models.backends
    assert (await admin.ask("GET", BACKENDS)).json["profiles"] == []
    name = state.models[0]["id"]
    state.update(measured={name: ModelProfile(context_window=4096)})

    profiles = (await admin.ask("GET", BACKENDS)).json["profiles"]
    assert profiles == [{"backend": "replay", "model": name, "facts": {"context_window": 4096}}]
