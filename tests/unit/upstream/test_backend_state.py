import json
from typing import Any

import pytest

from antiphon.protocol.validation.validate import decode_request
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.upstream.backend_state import BackendState, LoadReport
from antiphon.upstream.options import BackendOptions, ModelOptions, is_listed
from antiphon.upstream.prices import Prices
from tests.support.parts import listed


def running(share: BackendOptions, *models: str) -> BackendState:
    one = BackendState(listed("a"), DIALECTS["generic"], share)
    one.models = [{"id": model} for model in models]
    return one


def offered(one: BackendState) -> list[str]:
    return [model["id"] for model in one.offers()]


def test_a_backend_serves_what_it_lists() -> None:
    one = running(BackendOptions(), "x", "llama3:latest")

    assert [one.called(name) for name in ("x", "llama3", "y")] == ["x", "llama3", None]
    assert offered(one) == ["x", "llama3:latest"]


def test_a_backend_that_was_never_called_has_counted_nothing() -> None:
    one = running(BackendOptions())

    assert (one.requested, one.failed, one.health.failures, one.health.ejections) == (0, 0, 0, 0)
    assert (one.prompts.size, one.prompts.reused, one.prompts.breaks, one.prompts.last_break) == (
        0,
        0,
        0,
        "",
    )


def test_an_alias_is_the_clients_name_for_a_model() -> None:
    one = running(BackendOptions(aliases={"big": "x-70b"}), "x-70b")

    assert [one.called("big"), one.called("x-70b")] == ["x-70b", "x-70b"]
    assert offered(one) == ["x-70b", "big"]


def test_named_models_are_all_that_it_serves_whether_it_lists_them_or_not() -> None:
    one = running(BackendOptions(frozenset({"x", "hidden"})), "x", "y")

    assert [one.called(name) for name in ("x", "hidden", "y")] == ["x", "hidden", None]
    assert offered(one) == ["x", "hidden"]


def test_a_star_is_no_name_of_a_model() -> None:
    one = running(BackendOptions(frozenset({"*"})), "x")

    assert [one.called(name) for name in ("x", "*", "y")] == ["x", None, None]
    assert offered(one) == ["x"]


def test_clients_receive_the_label_of_a_backend_that_has_one() -> None:
    assert [running(BackendOptions()).label, running(BackendOptions(label="backend-1")).label] == [
        "a",
        "backend-1",
    ]


@pytest.mark.parametrize(
    ("listed", "is_it"),
    [
        (["llama3"], True),
        (["llama3:latest"], True),
        (["x", "llama3"], True),
        (["llama3:8b"], False),
        ([], False),
    ],
)
def test_a_model_is_listed_by_its_name_or_as_the_latest_of_it(
    listed: list[str], is_it: bool
) -> None:
    assert is_listed("llama3", listed) is is_it


def test_a_model_of_which_nothing_is_known_is_called_as_its_family() -> None:
    target = running(BackendOptions(), "x").target("x", "x")

    assert (target.dialect, target.profile, target.defaults) == (DIALECTS["generic"], None, None)


def test_what_was_measured_reaches_a_model_that_is_in_use_and_no_other() -> None:
    one = running(BackendOptions(), "x", "y")
    x = one.target("x", "x")
    y = one.target("y", "y")

    one.update(measured={"x": ModelProfile(json_formats=("json_object",), thinking="preopened")})

    assert (x.dialect.json_formats, x.preopened) == (frozenset({"json_object"}), True)
    assert (y.dialect, y.profile, y.preopened) == (DIALECTS["generic"], None, False)


def test_what_is_no_longer_known_holds_no_longer() -> None:
    one = running(BackendOptions(), "x")
    target = one.target("x", "x")
    one.update(measured={"x": ModelProfile(context_window=8192, thinking_control="")})

    one.update(measured={})

    assert (target.dialect, target.profile) == (DIALECTS["generic"], None)


def test_a_measured_model_is_found_by_ollamas_short_name() -> None:
    one = running(BackendOptions(), "llama3:latest")
    one.update(measured={"llama3:latest": ModelProfile(vision=False)})

    assert one.target("llama3", "llama3").profile == ModelProfile(vision=False)


def test_what_is_configured_replaces_what_was_measured() -> None:
    one = running(
        BackendOptions(configured=[ModelOptions("x", ModelProfile(context_window=8192))]), "x"
    )
    one.update(measured={"x": ModelProfile(context_window=4096, vision=True)})

    assert one.target("x", "x").profile == ModelProfile(context_window=8192, vision=True)


def test_the_particular_replaces_the_general_and_an_alias_the_backends_own_name() -> None:
    configured = [
        ModelOptions("*", defaults=ModelDefaults(parameters={"top_k": 1, "seed": 1})),
        ModelOptions("fast", defaults=ModelDefaults(parameters={"top_k": 3})),
        ModelOptions("x", defaults=ModelDefaults(parameters={"top_k": 2, "min_p": 0.1})),
    ]
    one = running(BackendOptions(aliases={"fast": "x"}, configured=configured), "x", "y")
    seen = [
        one.target(model, name).defaults for model, name in (("x", "fast"), ("x", "x"), ("y", "y"))
    ]

    assert [each.parameters for each in seen if each] == [
        {"top_k": 3, "seed": 1, "min_p": 0.1},
        {"top_k": 2, "seed": 1, "min_p": 0.1},
        {"top_k": 1, "seed": 1},
    ]


def test_a_reload_changes_what_is_configured_for_a_model_in_use() -> None:
    one = running(
        BackendOptions(configured=[ModelOptions("x", ModelProfile(context_window=8192))]), "x"
    )
    target = one.target("x", "x")

    one.update(options=BackendOptions())

    assert target.profile is None


def ollama(**options: Any) -> BackendState:
    return BackendState(
        listed("o"), DIALECTS["ollama"], BackendOptions(**{"api": "auto", **options})
    )


@pytest.mark.parametrize(
    ("api", "speaks_natively", "is_native"),
    [
        ("auto", None, False),
        ("auto", False, False),
        ("auto", True, True),
        ("chat", True, False),
        ("responses", True, False),
        ("ollama", None, True),
    ],
)
def test_ollama_is_called_natively_where_it_can_be(
    api: Any, speaks_natively: bool | None, is_native: bool
) -> None:
    one = ollama(api=api)
    model = one.target("m", "m")

    one.update(speaks_natively=speaks_natively)

    assert (one.native is not None, model.backend is one.native) == (is_native, is_native)
    assert model.chat_path == ("/../api/chat" if is_native else "/chat/completions")
    assert model.api == ("responses" if api == "responses" else "chat")


def test_only_ollama_is_called_natively() -> None:
    one = BackendState(listed("v"), DIALECTS["vllm"], BackendOptions(api="auto"))

    one.update(speaks_natively=True)

    assert one.native is None


def test_the_native_backend_stays_until_the_server_or_its_options_change() -> None:
    one = ollama(api="ollama")
    first = one.native

    one.update(models=[{"id": "m"}])
    assert one.native is first
    one.update(options=BackendOptions(api="ollama", num_ctx=8_192))
    assert one.native is not first
    second = one.native
    one.update(backend=listed("o"))
    assert one.native is not second


def test_the_native_api_takes_more_parameters() -> None:
    assert "top_k" in ollama(api="ollama").passthrough
    assert "top_k" not in ollama().passthrough


def test_a_configured_window_is_that_of_the_latest_option_that_is_about_the_model() -> None:
    windows = [("*", 4_096), ("m", 8_192), ("m", None), ("other", 512)]
    configured = [
        ModelOptions(name, ModelProfile(context_window=window)) for name, window in windows
    ]
    one = ollama(configured=configured)

    assert [one.configured_window(name) for name in ("m", "m:latest", "x")] == [8_192, 8_192, 4_096]
    assert ollama().configured_window("m") is None


def test_the_window_of_a_model_is_that_of_its_profile_where_nothing_else_sets_it() -> None:
    configured = [ModelOptions("m", ModelProfile(context_window=4_096))]
    one = BackendState(listed("v"), DIALECTS["vllm"], BackendOptions(configured=configured))

    assert (one.target("m", "m").window, one.target("x", "x").window) == (4_096, None)
    assert (
        ollama(api="ollama", configured=configured).target("m", "m").window is None
    )  # until it was asked


@pytest.mark.parametrize(
    ("json_held", "has_broken", "is_loose"),
    [
        (None, False, False),
        (True, False, False),
        (False, False, True),
        (None, True, True),
        (True, True, True),
    ],
)
def test_a_model_may_break_a_schema_once_it_did_or_a_probe_has_found_so(
    json_held: bool | None, has_broken: bool, is_loose: bool
) -> None:
    configured = [ModelOptions("m", ModelProfile(json_held=json_held))]
    model = running(BackendOptions(configured=configured), "m").target("m", "m")
    unknown = running(BackendOptions(), "m").target("m", "m")
    if has_broken:
        model.breaks_schemas = unknown.breaks_schemas = True

    assert (model.is_loose, unknown.is_loose) == (is_loose, has_broken)


@pytest.mark.parametrize(
    ("api", "tools", "used"),
    [
        ("auto", [{"type": "web_search"}], "chat"),
        ("auto", [], "responses"),
        ("responses", [{"type": "web_search"}], "responses"),
    ],
    ids=["it refused the tool", "it refused another request", "it was configured"],
)
def test_what_a_responses_api_refused_goes_to_the_other_api_unless_it_is_configured(
    api: Any, tools: list[dict[str, str]], used: str
) -> None:
    one = running(BackendOptions(api=api), "m")
    one.update(probed="responses")
    model = one.target("m", "m")
    request = decode_request(json.dumps({"model": "m", "input": "Hi", "tools": tools}).encode())
    assert model.api_for(request, []) == "responses"
    model.lessons.learn("web_search")

    assert model.api_for(request, []) == used


def test_prices_and_reservations_of_a_general_table_hold_unless_the_particular_one_has_its_own() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    general = Prices(1, 1, 1)
    own = Prices(2, 2, 2)
    configured = [
        ModelOptions("*", prices=general, reserved_output=10),
        ModelOptions("m"),
        ModelOptions("n", prices=own, reserved_output=20),
    ]
    one = running(BackendOptions(configured=configured), "m", "n")
    found = [one.target(name, name) for name in "mn"]

    assert [(target.prices, target.reserved_output) for target in found] == [
        (general, 10),
        (own, 20),
    ]


def test_a_template_opens_the_reasoning_as_measured_until_an_answer_shows_otherwise() -> None:
    one = running(BackendOptions(), "m")
    model = one.target("m", "m")
    one.update(measured={"m": ModelProfile(context_window=512)})
    assert not model.preopened
    one.update(measured={"m": ModelProfile(thinking="preopened")})
    assert model.preopened
    model.preopened = False
    one.update(measured={"m": ModelProfile(thinking="preopened")})
    assert not model.preopened


def test_the_window_that_a_server_reported_is_of_a_loaded_model_by_its_name_or_as_the_latest_of_it() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    one = running(BackendOptions(), "m:latest")
    one.load = LoadReport(windows={"m:latest": 8_192})

    assert [one.reported_window(name) for name in ("m", "m:latest", "x")] == [8_192, 8_192, 0]


@pytest.mark.parametrize(
    ("family", "api", "is_translated", "dialect"),
    [
        ("messages", "auto", True, "messages"),
        ("generic", "messages", True, "messages"),
        ("anthropic", "messages", True, "messages"),
        ("messages", "chat", False, "anthropic"),
        ("anthropic", "auto", False, "anthropic"),
        ("messages", "responses", False, "messages"),
    ],
)
def test_a_messages_api_is_called_by_translated_chat_requests(
    family: str, api: Any, is_translated: bool, dialect: str
) -> None:
    one = BackendState(listed("c"), DIALECTS[family], BackendOptions(api=api))
    model = one.target("m", "m")

    assert (one.messages is not None, model.backend is one.messages) == (is_translated,) * 2
    assert (one.dialect.name, model.dialect.name) == (dialect, dialect)
    assert model.api == ("responses" if api == "responses" else "chat")
    assert model.chat_path == "/chat/completions"


def test_the_object_of_a_model_is_that_of_its_list() -> None:
    one = running(BackendOptions(), "m:latest")

    assert [one.listed(name) for name in ("m", "x")] == [{"id": "m:latest"}, {}]
