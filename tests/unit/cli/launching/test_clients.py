"""The profile of each client."""

import json
import tomllib
from typing import Any

import pytest

from antiphon.cli.launching.clients import CLIENTS, LaunchFacts, Profile
from antiphon.server.codex_catalog import catalog

URL = "http://127.0.0.1:8321/v1"
CATALOG = catalog([("qwen3:8b", 40_960, None), ("unsized", None, None)])


def profile(client: str, model: str = "qwen3:8b", **facts: Any) -> Profile:
    return CLIENTS[client].profile(
        LaunchFacts(URL, model, facts.pop("catalog", CATALOG), "/tmp/x", **facts)
    )


def codex_settings(profile: Profile) -> dict[str, Any]:
    """What Codex reads of `-c name=value` flags: TOML, with dots in the names."""
    flags = profile.arguments[::2]
    values = profile.arguments[1::2]
    assert set(flags) == {"-c"}
    return tomllib.loads("\n".join(values))


def test_codex_gets_the_provider_the_model_and_its_catalog_as_flags() -> None:
    created = profile("codex")

    assert codex_settings(created) == {
        "model": "qwen3:8b",
        "model_provider": "antiphon",
        "model_providers": {
            "antiphon": {"name": "Antiphon", "base_url": URL, "wire_api": "responses"}
        },
        "model_catalog_json": "/tmp/x/models.json",
    }
    assert {name: json.loads(content) for name, content in created.files.items()} == {
        "models.json": {"models": CATALOG}
    }
    assert created.environment == {}


def test_codex_reads_the_key_from_the_variable() -> None:
    settings = codex_settings(profile("codex", key_env="TEAM_KEY", key="sk-1"))
    assert settings["model_providers"]["antiphon"]["env_key"] == "TEAM_KEY"


def test_codex_gets_no_catalog_of_a_server_that_lists_no_models() -> None:
    created = profile("codex", "any", catalog=[])
    assert "model_catalog_json" not in codex_settings(created)
    assert created.files == {}


@pytest.mark.parametrize("name", ['a"b\\c', "modèle", "😀", "a\x7fb\tc"])
def test_codex_gets_any_name_as_it_is(name: str) -> None:
    assert codex_settings(profile("codex", name))["model"] == name


def test_opencode_gets_its_configuration_in_a_variable() -> None:
    created = profile("opencode")

    configuration = json.loads(created.environment["OPENCODE_CONFIG_CONTENT"])
    provider = configuration["provider"]["antiphon"]
    assert (configuration["model"], configuration["small_model"]) == (
        "antiphon/qwen3:8b",
        "antiphon/qwen3:8b",
    )
    assert (provider["npm"], provider["options"]) == (
        "@ai-sdk/openai",
        {"baseURL": URL, "apiKey": "none"},
    )
    assert provider["models"]["qwen3:8b"] == {
        "name": "qwen3:8b",
        "tool_call": True,
        "reasoning": True,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": 40_960, "output": 10_240},
    }
    assert "limit" not in provider["models"]["unsized"]
    assert (created.arguments, created.files) == ((), {})


def test_opencode_reads_the_key_from_the_variable() -> None:
    created = profile("opencode", key_env="TEAM_KEY", key="sk-1")
    options = json.loads(created.environment["OPENCODE_CONFIG_CONTENT"])["provider"]["antiphon"][
        "options"
    ]
    assert options["apiKey"] == "{env:TEAM_KEY}"


def registered(profile: Profile) -> dict[str, Any]:
    """The provider that the extension of pi registers."""
    (code,) = profile.files.values()
    before = 'export default (pi) => pi.registerProvider("antiphon", '
    after = ");\n"
    assert code.startswith(before)
    assert code.endswith(after)
    provider: dict[str, Any] = json.loads(code.removeprefix(before).removesuffix(after))
    return provider


def test_pi_gets_an_extension_that_registers_the_provider() -> None:
    created = profile("pi")

    assert created.arguments == (
        "--extension",
        "/tmp/x/antiphon.js",
        "--provider",
        "antiphon",
        "--model",
        "qwen3:8b",
    )
    assert [*created.files] == ["antiphon.js"]
    provider = registered(created)
    assert (provider["baseUrl"], provider["api"], provider["apiKey"]) == (
        URL,
        "openai-responses",
        "none",
    )
    assert [
        (one["id"], one["contextWindow"], one["maxTokens"], one["input"])
        for one in provider["models"]
    ] == [
        ("qwen3:8b", 40_960, 10_240, ["text", "image"]),
        ("unsized", 128_000, 32_000, ["text", "image"]),
    ]


def test_pi_reads_the_key_from_the_variable() -> None:
    assert registered(profile("pi", key_env="TEAM_KEY", key="sk-1"))["apiKey"] == "TEAM_KEY"


def test_cline_gets_state_of_its_own() -> None:
    created = profile("cline")

    assert created.arguments == (
        "--data-dir",
        "/tmp/x/cline",
        "--provider",
        "openai-native",
        "--model",
        "qwen3:8b",
    )
    assert created.environment == {"OPENAI_API_KEY": "none"}
    settings = json.loads(created.files["cline/settings/providers.json"])["providers"][
        "openai-native"
    ]["settings"]
    assert settings == {"provider": "openai-native", "model": "qwen3:8b", "baseUrl": URL}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_key_is_in_no_argument_and_no_file(client: str) -> None:
    created = profile(client, key_env="TEAM_KEY", key="sk-secret")
    assert "sk-secret" not in json.dumps([created.arguments, dict(created.files)])


@pytest.mark.parametrize("client", CLIENTS)
def test_a_model_is_used_that_the_server_does_not_list(client: str) -> None:
    created = profile(client, "any", catalog=[])
    assert "any" in json.dumps([created.arguments, created.environment, dict(created.files)])


def test_claude_code_gets_every_model_and_the_address_in_a_file_of_settings() -> None:
    created = profile("claude", key_env="TEAM_KEY", key="sk-1", no_proxy="a.example")
    variables = json.loads(created.files["claude.json"])["env"]

    assert created.arguments == ("--settings", "/tmp/x/claude.json", "--model", "qwen3:8b")
    assert created.environment == {"ANTHROPIC_AUTH_TOKEN": "sk-1", "ANTHROPIC_API_KEY": ""}
    assert variables["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8321"
    models = {value for name, value in variables.items() if name.endswith("_MODEL")}
    assert models == {"qwen3:8b"}
    assert "ANTHROPIC_DEFAULT_HAIKU_MODEL" in variables
    assert variables["NO_PROXY"] == "a.example,127.0.0.1"


def test_claude_code_learns_the_window_only_if_it_is_known() -> None:
    known = json.loads(profile("claude").files["claude.json"])["env"]
    assert (known["CLAUDE_CODE_MAX_CONTEXT_TOKENS"], known["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]) == (
        "40960",
        "10240",
    )
    assert "CLAUDE_CODE_MAX_CONTEXT_TOKENS" not in profile("claude", "unsized").files["claude.json"]
