"""Settings in code have the effect that they have in a file, or they are rejected."""

from pathlib import Path
from typing import Any

import pytest

from antiphon import (
    Antiphon,
    AsyncAntiphon,
    ClientError,
    ConfigError,
    asgi,
    async_http_client,
    http_client,
)
from antiphon.config import BackendConfig, ModelConfig, Settings
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.cases import each
from tests.support.parts import stated
from tests.support.replay import ReplayBackend

SERVER_ONLY = {
    "host": "0.0.0.0",
    "port": 9000,
    "workers": 2,
    "grace": 1.0,
    "log_level": "debug",
    "log_format": "json",
    "access_log": True,
}
OF_CONNECTIONS = {
    "websocket": False,
    "allowed_hosts": ["a.example"],
    "allowed_origins": ["https://a.example"],
    "max_connections": 7,
    "max_connection_bytes": 2048,
}


async def test_backends_and_fallback_of_settings_count(backend: ReplayBackend) -> None:
    settings = Settings(
        backends=[BackendConfig(url=backend.url, aliases={"mine": "m"}, weight=2)],
        fallback={"gone": ["mine"]},
        store="sqlite://",
    )
    async with AsyncAntiphon(settings) as client:
        aliased = await client.responses.create(model="mine", input="Hi")
        fallen = await client.responses.create(model="gone", input="Hi")
    assert (aliased.output_text, fallen.output_text) == ("You said: Hi", "You said: Hi")
    assert [request["model"] for request in backend.requests] == ["m", "m"]


async def test_the_store_of_the_settings_counts(tmp_path: Path) -> None:
    settings = Settings(store=f"sqlite://{tmp_path}/a.db")
    async with AsyncAntiphon(settings, backend=DemoBackend()) as client:
        created = await client.responses.create(model="demo", input="Hi")
    async with AsyncAntiphon(store=f"sqlite://{tmp_path}/a.db") as client:
        assert (await client.responses.retrieve(created.id)).id == created.id


async def test_limits_and_defaults_of_models_count_for_a_backend_of_the_program() -> None:
    scripted = ScriptedBackend([stated("Hi")], models=["m"])
    settings = Settings(
        models=[ModelConfig(name="m", parameters={"temperature": 0.25})],
        max_items=1,
        store="sqlite://",
    )
    items = [{"role": "user", "content": "a"}] * 2
    async with AsyncAntiphon(settings, backend=scripted) as client:
        await client.responses.create(model="m", input="Hi")
        with pytest.raises(ClientError, match="maximum length 1"):
            await client.responses.create(model="m", input=items)
    assert scripted.requests[0]["temperature"] == 0.25


async def test_a_url_has_a_key(backend: ReplayBackend) -> None:
    async with AsyncAntiphon(backend=backend.url, key="sk-mine") as client:
        assert (await client.responses.create(model="m", input="Hi")).output_text == "You said: Hi"
    assert b"Bearer sk-mine" in backend.heads[0]


@each("make", [Antiphon, AsyncAntiphon, http_client, async_http_client])
@each("name", [*SERVER_ONLY, *OF_CONNECTIONS])
def test_clients_reject_settings_of_a_server(make: Any, name: str) -> None:
    value = (SERVER_ONLY | OF_CONNECTIONS)[name]
    with pytest.raises(ConfigError, match=f"`{name}` has no effect here"):
        make(Settings(**{name: value}))


@pytest.mark.parametrize("name", SERVER_ONLY)
def test_an_application_rejects_settings_of_a_process(name: str) -> None:
    with pytest.raises(ConfigError, match=f"`{name}` has no effect here"):
        asgi(Settings(**{name: SERVER_ONLY[name]}))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"backend": DemoBackend(), "key": "sk"}, "`key` was passed without the URL"),
        ({"key": "sk"}, "`key` was passed without the URL"),
        (
            {
                "backend": "http://a/v1",
                "settings": Settings(backends=[BackendConfig(url="http://b/v1")]),
            },
            "Pass one",
        ),
        ({"backend": "nonsense"}, "nonsense"),
        ({"backend": BackendConfig(url="http://a/v1")}, "Pass it in `Settings"),
        ({"settings": "http://a/v1"}, "it is a str. Pass a base URL as `backend=`"),
        ({"settings": {"store": "sqlite://"}}, "it is a dict. Pass `Settings"),
        (
            {"settings": Settings(retention_days="x")},
            "`retention_days` must be a whole number, at least 1",
        ),
        ({"settings": Settings(cache_ttl=0)}, "cache_ttl"),
        ({"settings": Settings(backends=[BackendConfig(url="nonsense")])}, "nonsense"),
    ],
)
def test_mistakes_are_reported_at_once(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Antiphon(**arguments)


async def test_a_store_that_cannot_be_used_is_reported_at_first_use() -> None:
    with pytest.raises(ConfigError):
        await AsyncAntiphon(store="nowhere").responses.retrieve("resp_1")
