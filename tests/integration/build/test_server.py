"""Settings become parts."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.access.keyring import new_key
from antiphon.access.spending import Weight
from antiphon.build import Application, build, web_search_of
from antiphon.config import BackendConfig, ModelConfig, Settings
from antiphon.config.models import PriceConfig
from antiphon.errors import ClientError, ConfigError
from antiphon.outbound.ssrf import Reach
from antiphon.protocol.tools import WebSearchTool
from antiphon.storage.open import open_store
from antiphon.storage.operations import budgets, profiles
from antiphon.storage.records.money import Budget, TenantBudget
from antiphon.storage.records.profiles import StoredProfile
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.tools.base import Use
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.prices import NANO
from antiphon.upstream.probing.measurement import Measurement
from tests.support.certificates import certificate
from tests.support.keys import issued
from tests.support.raw_http import received, speaking
from tests.support.replay import ReplayBackend
from tests.support.small_web import KEY, small_web

UNAVAILABLE = "http://127.0.0.1:9/v1"


@asynccontextmanager
async def deployment(settings: Settings, **environment: str) -> AsyncIterator[Application]:
    built = await build(settings, environment)
    try:
        yield built
    finally:
        await built.close()


def settings(*backends: BackendConfig, **values: object) -> Settings:
    return Settings(store="sqlite://", backends=list(backends), **values)  # type: ignore[arg-type]


@pytest.fixture
def no_backend_nearby(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What looking around finds: nothing, until a test adds to it."""
    places: list[tuple[str, str]] = []

    async def discover() -> list[tuple[str, str]]:
        return places

    monkeypatch.setattr("antiphon.build.backends.discover", discover)
    return places


async def test_configured_backends_are_used_and_listed(backend: ReplayBackend) -> None:
    async with deployment(
        settings(BackendConfig(url=backend.url), BackendConfig(url=UNAVAILABLE, name="gone"))
    ) as built:
        assert [one.name for one in built.backends.current] == [backend.url.split("/")[2], "gone"]
        assert [model["id"] for model in built.parts.models.list()] == ["m"]
        assert built.parts.models.backends[1].error


async def test_a_backends_key_comes_from_its_variable(backend: ReplayBackend) -> None:
    configured = settings(BackendConfig(url=backend.url, key_env="MY_KEY"))
    async with deployment(configured, MY_KEY="sk-mine", OPENAI_API_KEY="sk-other") as built:
        await (
            await built.backends.current[0].post(
                "/chat/completions", b'{"messages":[{"role":"user","content":"x"}]}'
            )
        ).read()

    assert b"Bearer sk-mine" in backend.heads[0]


async def test_a_backend_has_the_authority_and_the_proxy_that_are_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, signer = certificate(tmp_path, "127.0.0.1", timedelta(days=9))
    monkeypatch.setenv("HOME", str(tmp_path))

    async def lists(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{"data": [{"id": "m"}]}')

    async with speaking(lists, context) as url:
        trusting = BackendConfig(url=url, name="a", ca_file=f"~/{signer.name}")
        elsewhere = BackendConfig(url=url, name="b", ca_file=str(signer), proxy=UNAVAILABLE)
        async with deployment(
            settings(trusting, elsewhere, BackendConfig(url=url, name="c"))
        ) as built:
            assert [bool(one.error) for one in built.parts.models.backends] == [False, True, True]


@pytest.mark.parametrize(
    ("ca_file", "environment", "advice"),
    [
        ("absent.pem", {}, "No such file"),
        ("", {"HTTPS_PROXY": "socks5://proxy:1"}, "only http proxies"),
    ],
)
async def test_a_backend_with_unusable_files_or_proxy_is_refused(
    ca_file: str, environment: dict[str, str], advice: str
) -> None:
    with pytest.raises(ConfigError, match=f"^The backend https://h/v1 cannot be used: .*{advice}"):
        async with deployment(
            settings(BackendConfig(url="https://h/v1", ca_file=ca_file)), **environment
        ):
            pass


async def test_a_key_that_is_not_set_is_refused() -> None:
    with pytest.raises(ConfigError, match="MY_KEY"):
        await build(settings(BackendConfig(url=UNAVAILABLE, key_env="MY_KEY")), {})


async def test_backends_of_one_name_are_distinguished() -> None:
    same = [
        BackendConfig(url=UNAVAILABLE),
        BackendConfig(url=UNAVAILABLE),
        BackendConfig(url=UNAVAILABLE),
    ]
    async with deployment(settings(*same)) as built:
        assert [one.name for one in built.backends.current] == [
            "127.0.0.1:9",
            "127.0.0.1:9-2",
            "127.0.0.1:9-3",
        ]


async def test_clients_receive_a_backends_name_or_its_place_and_never_its_address(
    backend: ReplayBackend,
) -> None:
    configured = [
        BackendConfig(url=backend.url),
        BackendConfig(url=UNAVAILABLE, name="gone"),
        BackendConfig(url=UNAVAILABLE),
    ]
    async with deployment(settings(*configured)) as built:
        assert [backend.label for backend in built.parts.models.backends] == [
            "backend-1",
            "gone",
            "backend-3",
        ]


async def test_what_a_backend_is_to_do_is_configured(backend: ReplayBackend) -> None:
    stated = {"models": ["m"], "aliases": {"big": "m"}, "weight": 2.0, "concurrency": 3, "queue": 4}
    async with deployment(
        settings(BackendConfig(url=backend.url, name="b", **stated), fallback={"x": ["m"]})
    ) as built:  # type: ignore[arg-type]
        (state,) = built.parts.models.backends
        share = state.options
        assert (share.models, share.aliases, share.weight) == ({"m"}, {"big": "m"}, 2.0)
        assert (state.slots.capacity, state.slots.bound) == (3, 4)
        assert [target.name for target in await built.parts.models.candidates("x")] == ["m"]


async def test_new_settings_keep_what_stays_and_close_what_went_only_at_the_end(
    backend: ReplayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    before = settings(
        BackendConfig(url=backend.url, name="stays"), BackendConfig(url=UNAVAILABLE, name="goes")
    )
    async with deployment(before) as built:
        stays, goes = built.backends.current

        async def close() -> None:
            closed.append(goes.name)

        monkeypatch.setattr(goes, "close", close)
        await built.backends.reload(
            settings(BackendConfig(url=backend.url, name="stays", weight=5.0)), {}
        )

        assert list(built.backends.current) == [stays]
        assert built.parts.models.backends[0].options.weight == 5.0
        assert closed == []
        with pytest.raises(ConfigError):
            await built.backends.reload(
                settings(BackendConfig(url=UNAVAILABLE, key_env="NOT_SET")), {}
            )
        assert list(built.backends.current) == [stays]
    assert closed == ["goes"]


async def test_a_dialect_is_configured_by_name(backend: ReplayBackend) -> None:
    async with deployment(settings(BackendConfig(url=backend.url, dialect="vllm"))) as built:
        assert (await built.parts.models.find("m")).dialect.name == "vllm"
        assert built.parts.models.accepts("top_k")
    for names in ([], ["min_p"]):
        async with deployment(
            settings(BackendConfig(url=backend.url, dialect="vllm", passthrough=names))
        ) as built:
            taken = [name for name in ("top_k", "min_p") if built.parts.models.accepts(name)]
            assert taken == names
    with pytest.raises(ConfigError, match="Unknown dialect 'vlm'"):
        await build(settings(BackendConfig(url=backend.url, dialect="vlm")), {})


@pytest.mark.parametrize(("configured", "checked"), [(None, True), (False, False), (True, True)])
async def test_whether_answers_are_checked_is_configured_by_backend_and_loops_for_all(
    backend: ReplayBackend, configured: bool | None, checked: bool
) -> None:
    reported = BackendConfig(url=backend.url, dialect="vllm", check_answers=configured)
    async with deployment(settings(reported, loop_calls=7, loop_text=0)) as built:
        found = await built.parts.models.find("m")
        assert (found.dialect.name, found.dialect.checks_answers) == ("vllm", checked)
        assert (found.state.options.loop_calls, found.state.options.loop_text) == (7, 0)


async def test_where_nothing_is_configured_openais_variables_are_heeded(
    backend: ReplayBackend, no_backend_nearby: list[tuple[str, str]]
) -> None:
    async with deployment(
        settings(), OPENAI_BASE_URL=backend.url, OPENAI_API_KEY="sk-mine "
    ) as built:
        (only,) = built.backends.current
        await (
            await only.post("/chat/completions", b'{"messages":[{"role":"user","content":"x"}]}')
        ).read()

    assert (only.name, only.url) == ("openai", backend.url)
    assert b"Bearer sk-mine\r\n" in backend.heads[0]


async def test_openais_variables_do_not_make_a_server_its_own_backend(
    no_backend_nearby: list[tuple[str, str]],
) -> None:
    for host in ("127.0.0.1", "localhost"):
        async with deployment(
            settings(port=8321), OPENAI_BASE_URL=f"http://{host}:8321/v1"
        ) as built:
            assert [type(one) for one in built.backends.current] == [DemoBackend]


async def test_a_secret_in_openais_base_url_is_refused(
    no_backend_nearby: list[tuple[str, str]],
) -> None:
    with pytest.raises(ConfigError, match="must not contain a key") as caught:
        await build(settings(), {"OPENAI_BASE_URL": "http://sk-secret@127.0.0.1:9/v1"})
    assert "sk-secret" not in caught.value.message


async def test_a_local_backend_that_is_found_is_used(
    backend: ReplayBackend, no_backend_nearby: list[tuple[str, str]]
) -> None:
    no_backend_nearby.append(("ollama", backend.url))
    async with deployment(settings()) as built:
        assert [(type(one), one.name) for one in built.backends.current] == [
            (HttpBackend, "ollama")
        ]


async def test_without_a_local_backend_the_demo_is_used(
    no_backend_nearby: list[tuple[str, str]],
) -> None:
    async with deployment(settings()) as built:
        assert [model["id"] for model in built.parts.models.list()] == ["demo"]


async def test_a_configured_backend_is_all_there_is(
    backend: ReplayBackend, no_backend_nearby: list[tuple[str, str]]
) -> None:
    no_backend_nearby.append(("ollama", backend.url))
    async with deployment(
        settings(BackendConfig(url=UNAVAILABLE)), OPENAI_BASE_URL=backend.url
    ) as built:
        assert [one.url for one in built.backends.current] == [UNAVAILABLE]


async def test_a_slow_backend_does_not_hold_up_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.build.server.FIRST_POLL", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        async with deployment(settings(BackendConfig(url=url))) as built:
            assert not built.listing.done()


async def test_a_store_is_opened_by_its_url(tmp_path: Path) -> None:
    store = await open_store("sqlite://")
    assert isinstance(store, SqliteStore)
    await store.close()
    for url in ("redis://u:sk-secret@h/d", "antiphon.db", ""):
        with pytest.raises(ConfigError, match="sqlite:///path") as caught:
            await open_store(url)
        assert "sk-secret" not in caught.value.message


def at(store: str, *keys: str) -> Settings:
    return Settings(store=store, backends=[BackendConfig(url=UNAVAILABLE)], seal_keys=list(keys))


async def test_servers_of_one_store_open_each_others_seals_also_after_a_restart(
    store_url: str,
) -> None:
    async with deployment(at(store_url)) as one, deployment(at(store_url)) as other:
        blob = one.parts.run.keyring.seal({"summary": "x"}, "acme")
        assert other.parts.run.keyring.unseal(blob, "acme") == {"summary": "x"}
    async with deployment(at(store_url)) as later:
        assert later.parts.run.keyring.unseal(blob, "acme") == {"summary": "x"}


async def test_the_first_key_in_the_settings_seals_and_all_of_them_open() -> None:
    old, new = (base64.b64encode(new_key()).decode() for _ in range(2))
    async with deployment(at("sqlite://", old)) as before:
        blob = before.parts.run.keyring.seal({"a": 1}, "")
    async with (
        deployment(at("sqlite://", new, old)) as after,
        deployment(at("sqlite://", new)) as much_later,
    ):
        assert after.parts.run.keyring.unseal(blob, "") == {"a": 1}
        assert much_later.parts.run.keyring.unseal(blob, "") is None
        assert much_later.parts.run.keyring.unseal(
            after.parts.run.keyring.seal({"b": 2}, ""), ""
        ) == {"b": 2}


async def test_data_sealed_by_the_stores_own_key_can_be_opened_with_another_configured_key(
    store_url: str,
) -> None:
    async with deployment(at(store_url)) as before:
        blob = before.parts.run.keyring.seal({"a": 1}, "")
    async with deployment(at(store_url, base64.b64encode(new_key()).decode())) as after:
        assert after.parts.run.keyring.unseal(blob, "") == {"a": 1}


async def test_an_invalid_key_is_rejected_without_being_displayed() -> None:
    with pytest.raises(ConfigError, match="32 bytes") as caught:
        async with deployment(at("sqlite://", "canary")):
            pass

    assert "canary" not in caught.value.message


async def test_a_backend_is_called_by_its_configured_api_or_else_by_the_one_it_supports(
    backend: ReplayBackend,
) -> None:
    demanded = BackendConfig(url=backend.url, name="r", api="responses")
    left_open = BackendConfig(url=backend.url)
    async with deployment(settings(demanded, left_open)) as built:
        assert [backend.api for backend in built.parts.models.backends] == ["responses", "chat"]
    assert backend.requests == []


@pytest.mark.parametrize(
    ("written", "keep_alive"),
    [("", None), ("30m", "30m"), ("1h30m", "1h30m"), ("-1", -1), ("600", 600), (" 0 ", 0)],
)
async def test_ollama_has_the_window_and_the_time_in_memory_that_are_configured(
    backend: ReplayBackend, written: str, keep_alive: str | int | None
) -> None:
    configured = BackendConfig(url=backend.url, api="ollama", num_ctx=8_192, keep_alive=written)
    async with deployment(settings(configured)) as built:
        (state,) = built.parts.models.backends
        assert (state.options.num_ctx, state.options.keep_alive) == (8_192, keep_alive)
        assert state.native is not None


@pytest.mark.parametrize("written", ["forever", "30 minutes", "1d", "m", "--1"])
async def test_a_time_in_memory_that_ollama_cannot_read_ends_the_start(written: str) -> None:
    with pytest.raises(ConfigError, match="Write a duration such as `30m`"):
        await build(settings(BackendConfig(url="http://127.0.0.1:1/v1", keep_alive=written)), {})


@pytest.mark.parametrize(
    ("name", "key_env"), [("brave", "BRAVE_API_KEY"), ("tavily", "TAVILY_API_KEY")]
)
async def test_the_web_search_provider_takes_its_key_from_its_variable(
    name: str, key_env: str
) -> None:
    async with small_web() as web:
        wanted = settings(web_search=name, web_search_url=getattr(web, name))
        for configured, variable in (
            (wanted, key_env),
            (replace(wanted, web_search_key_env="MY_KEY"), "MY_KEY"),
        ):
            tool = web_search_of(configured, {variable: KEY}, Reach())
            assert tool is not None
            outcome = await tool.run(Use(WebSearchTool(), "web_search", {"query": "harbour"}))
            await tool.close()
            assert list(outcome.sources) == [f"{web.site}/harbour"]


async def test_searxng_is_queried_at_the_configured_url_and_needs_no_key() -> None:
    async with small_web() as web:
        tool = web_search_of(
            settings(web_search=f"{web.searxng}/", web_search_results=1), {}, Reach()
        )
        assert tool is not None
        outcome = await tool.run(Use(WebSearchTool(), "web_search", {"query": "water"}))
        await tool.close()
    assert len(outcome.sources) == 1
    assert "authorization" not in web.searches[0]["headers"]


def test_a_missing_key_is_reported_by_its_variable() -> None:
    with pytest.raises(ConfigError, match="TAVILY_API_KEY, which is not set"):
        web_search_of(settings(web_search="tavily"), {}, Reach())


def test_no_web_search_runs_without_a_configured_provider() -> None:
    assert web_search_of(settings(), {"BRAVE_API_KEY": "x"}, Reach()) is None


async def test_what_is_configured_for_a_model_holds_for_its_requests_and_changes_with_a_reload(
    backend: ReplayBackend,
) -> None:
    one = BackendConfig(url=backend.url, name="gpu")
    first = settings(
        one, models=[ModelConfig(name="m", backend="gpu", context_window=8192, stop=["x"])]
    )
    async with deployment(first) as built:
        await built.listing
        target = await built.parts.models.find("m")
        assert (target.profile, target.defaults) == (
            ModelProfile(context_window=8192),
            ModelDefaults(parameters={"stop": ["x"]}),
        )

        await built.backends.reload(settings(one, models=[ModelConfig(name="*", vision=False)]), {})
        assert ((await built.parts.models.find("m")).profile, target.defaults) == (
            ModelProfile(vision=False),
            None,
        )


async def test_the_model_that_describes_images_may_be_named_by_its_backend(
    backend: ReplayBackend,
) -> None:
    one = BackendConfig(url=backend.url, name="gpu", aliases={"fast": "m"})
    async with deployment(settings(one, vision="gpu/eye")) as built:
        await built.listing
        found = await built.parts.models.find("gpu/eye")
        assert (found.state.name, found.model) == ("gpu", "eye")
        assert (await built.parts.models.find("fast")).model == "m"
        assert built.parts.run.vision is not None
    async with deployment(settings(one)) as built:
        assert built.parts.run.vision is None


async def test_prompts_are_compared_unless_configured_otherwise(backend: ReplayBackend) -> None:
    for wanted in (True, False):
        async with deployment(
            settings(BackendConfig(url=backend.url), compare_prompts=wanted)
        ) as built:
            assert (built.parts.run.prompts is not None) == wanted


async def test_a_model_at_a_backend_that_does_not_exist_ends_the_start(
    backend: ReplayBackend,
) -> None:
    wrong = settings(
        BackendConfig(url=backend.url, name="gpu"), models=[ModelConfig(name="m", backend="gpo")]
    )
    with pytest.raises(ConfigError, match="names the backend 'gpo', which does not exist"):
        await build(wrong, {})


async def test_a_backend_that_is_found_has_what_is_configured_for_every_backend_and_for_its_name(
    backend: ReplayBackend, no_backend_nearby: list[tuple[str, str]]
) -> None:
    no_backend_nearby.append(("ollama", backend.url))
    models = [
        ModelConfig(name="m", vision=False),
        ModelConfig(name="m", backend="ollama", context_window=8192),
    ]
    models.append(
        ModelConfig(name="m", backend="lmstudio", context_window=1024)
    )  # it does not run now
    async with deployment(settings(models=models)) as built:
        await built.listing
        found = await built.parts.models.find("m")

        assert found.profile == ModelProfile(vision=False, context_window=8192)


async def test_a_profile_in_the_store_is_used_from_the_start(
    backend: ReplayBackend, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    store = await open_store(url)
    body = Measurement(profile=ModelProfile(context_window=8192)).encode()
    await store.write(profiles.put, StoredProfile(backend.url, "m", "", body, 1))
    await store.close()

    async with deployment(replace(settings(BackendConfig(url=backend.url)), store=url)) as built:
        await built.listing
        assert (await built.parts.models.find("m")).profile == ModelProfile(context_window=8192)


async def test_a_budget_is_enforced_with_the_configured_prices(
    backend: ReplayBackend, tmp_path: Path
) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    store = await open_store(url)
    _, key = await issued(store, budget=Budget(per_day=NANO))
    await store.close()
    dear = ModelConfig(name="m", prices=PriceConfig(input=0, output=1000))
    configured = replace(
        settings(BackendConfig(url=backend.url), models=[dear]), store=url, currency="EUR"
    )
    async with deployment(configured) as built:
        meter = built.parts.jobs.meter
        with await meter.admit(key, "m", Weight(10, 700)) as lease:
            assert lease.taken.cost == 7 * NANO // 10
            with pytest.raises(ClientError, match=r"may spend 1\.00 EUR a day"):
                await meter.admit(key, "m", Weight(0, 400))
        dearer = ModelConfig(name="m", prices=PriceConfig(input=0, output=2000))
        await built.backends.reload(replace(configured, models=[dearer]), {})
        with await meter.admit(key, "m", Weight(0, 400)) as lease:
            assert lease.taken.cost == 8 * NANO // 10


@pytest.mark.parametrize(
    ("general", "models", "reserved"),
    [
        ({}, {}, 1_000),
        ({"reserved_output_tokens": 300}, {}, 300),
        ({"reserved_output_tokens": 300}, {"*": 200}, 200),
        ({"reserved_output_tokens": 300}, {"*": 200, "m": 8_000}, 8_000),
        ({"reserved_output_tokens": 300}, {"other": 8_000}, 300),
    ],
)
async def test_the_settings_define_the_reservation_for_an_unlimited_answer(
    backend: ReplayBackend, general: dict[str, int], models: dict[str, int], reserved: int
) -> None:
    tables = [
        ModelConfig(name=name, reserved_output_tokens=tokens) for name, tokens in models.items()
    ]
    async with deployment(
        settings(BackendConfig(url=backend.url), models=tables, **general)
    ) as built:
        _, key = await issued(built.parts.store, tokens_per_day=10_000)
        with await built.parts.jobs.meter.admit(key, "m", Weight(10, 500)) as bounded:
            assert bounded.taken.tokens == 510
        with await built.parts.jobs.meter.admit(key, "m", Weight(10, 0, 1)) as unbounded:
            assert unbounded.taken.tokens == 10 + reserved


@pytest.mark.parametrize(("has_budget", "is_priced"), [(True, False), (True, True), (False, False)])
async def test_a_model_without_a_price_is_warned_of_where_a_budget_applies(
    backend: ReplayBackend,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    has_budget: bool,
    is_priced: bool,
) -> None:
    url = f"sqlite://{tmp_path}/a.db"
    store = await open_store(url)
    await issued(store)
    if has_budget:
        await store.write(budgets.put_tenant, TenantBudget("acme", Budget(per_month=NANO)))
    await store.close()
    models = [ModelConfig(name="*", prices=PriceConfig(input=1, output=1))] if is_priced else []
    async with deployment(
        replace(settings(BackendConfig(url=backend.url), models=models), store=url)
    ):
        warned = [
            record.getMessage()
            for record in caplog.records
            if "have no price" in record.getMessage()
        ]

    expected = "API keys with a budget cannot use 1 of 1 models, such as 'm': these have no price."
    assert [one.startswith(expected) for one in warned] == (
        [True] if has_budget and not is_priced else []
    )
