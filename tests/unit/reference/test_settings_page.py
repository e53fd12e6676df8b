"""The page of settings lists what there is to set, with its flag, its variable and its default."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import typer

from antiphon.application import check_backends
from antiphon.application.prompts import named_prompts
from antiphon.cli.main import app
from antiphon.config import PREFIX, BackendConfig, McpServerConfig, ModelConfig, PromptConfig, Settings, load_settings
from antiphon.protocol.templates import variables_of
from tests.support.pages import REFERENCE, table

SETTINGS = table("settings", "Setting in the file", "Flag", "Variable", "Default", "What it is")
KEYS = table("settings", "Key", "Default", "What it is")
MODEL_KEYS = table("settings", "Key of a model", "Default", "What it is")
SERVER_KEYS = table("settings", "Key of an MCP server", "Default", "What it is")
PROMPT_KEYS = table("settings", "Key of a prompt", "Default", "What it is")
NOT_SETTINGS = {"--config", "--help"}


def default_of(field: Any) -> str:
    if field.required:
        return "required"
    return json.dumps(field.default if field.default is not msgspec.NODEFAULT else field.default_factory())


def test_every_setting_has_its_row_with_its_default_and_every_row_its_setting() -> None:
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(Settings)}
    assert {name: default for name, _, _, default, _ in SETTINGS} == fields, "correct docs/reference/settings.md"


def test_every_setting_is_read_from_the_variable_that_its_row_names() -> None:
    assert [variable for _, _, variable, _, _ in SETTINGS] == [PREFIX + name.upper() for name, *_ in SETTINGS]
    samples = {"host": "::1", "store": "sqlite://", "backends": "http://a/v1, http://b/v1", "log_level": "debug"}
    samples |= dict.fromkeys(("webhook_private_addresses", "strict_tools", "strict_seals"), "true")
    samples |= dict.fromkeys(("access_log", "trace_content"), "true")
    samples |= {
        "max_body": "7000",
        "max_bodies": "7000",
        "max_connection_bytes": "7000",
        "max_history_bytes": "7000",
        "max_conversation_bytes": "7000",
        "allowed_origins": "https://a",
    }
    samples |= {
        "compare_prompts": "false",
        "websocket": "false",
        "metrics": "false",
        "fallback": "a=b",
        "log_format": "json",
    }
    samples |= {"cache_similarity": "1", "outgoing_networks": "10.0.0.0/8", "mcp_servers": "files=https://a/mcp"}
    samples |= {"web_search": "brave", "web_search_url": "https://a/search"}
    samples |= {"metrics_networks": "10.0.0.0/8", "metrics_listen": "127.0.0.1:9321"}
    samples |= {"models": '[{"name": "m"}]', "probe": "auto"}
    samples |= {"purge_fraction": "1", "mcp_list_failure": "continue", "facts": "false"}
    samples |= {"file_storage": "/files", "file_storage_region": "a", "file_storage_endpoint": "http://127.0.0.1:9000"}
    samples |= {"max_file": "7000", "max_upload": "7000", "max_file_bytes": "7000"}
    samples |= {"prompts": '{"p": {"instructions": "Be brief."}}'}
    samples |= {"code_sandbox": "bubblewrap", "code_memory_max": "1g", "code_python": "/opt/code/bin/python"}
    samples |= {"code_e2b_url": "https://api.e2b.app"}
    samples |= {"images_backend": "http://127.0.0.1:8080/v1"}
    samples |= {"console": "false", "console_bodies": "true"}
    for name, _, variable, default, _ in SETTINGS:
        settings = load_settings({}, {variable: samples.get(name, "7")}, file=Path("/dev/null"))
        assert json.dumps(msgspec.to_builtins(getattr(settings, name))) != default


def test_the_flags_are_those_of_serve() -> None:
    serve = typer.main.get_command(app).get_command(None, "serve")
    options = {opt: parameter.name for parameter in serve.params for opt in parameter.opts} | {"--backend": "backends"}
    flags = {flag: name for name, flag, *_ in SETTINGS if flag}
    assert flags == {opt: name for opt, name in options.items() if opt not in NOT_SETTINGS}


def test_every_key_of_a_backend_has_its_row_with_its_default_and_every_row_its_key() -> None:
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(BackendConfig)}
    assert {name: default for name, default, _ in KEYS} == fields


def test_every_key_of_a_model_has_its_row_with_its_default_and_every_row_its_key() -> None:
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(ModelConfig)}
    assert {name: default for name, default, _ in MODEL_KEYS} == fields


def test_the_models_that_the_page_shows_can_be_configured(tmp_path: Path) -> None:
    shown = (REFERENCE / "settings.md").read_text().partition("## A model in the file")[2]
    file = tmp_path / "antiphon.toml"
    file.write_text(shown.partition("```toml\n")[2].partition("```")[0])
    settings = load_settings({}, {}, file=file)
    check_backends(settings, {})
    assert [model.name for model in settings.models] == ["qwen3:8b", "*"]


def test_every_key_of_an_mcp_server_has_its_row_with_its_default_and_every_row_its_key() -> None:
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(McpServerConfig)}
    assert {name: default for name, default, _ in SERVER_KEYS} == fields


def test_every_key_of_a_prompt_has_its_row_with_its_default_and_every_row_its_key() -> None:
    fields = {field.name: default_of(field) for field in msgspec.structs.fields(PromptConfig)}
    assert {name: default for name, default, _ in PROMPT_KEYS} == fields


def test_the_prompts_that_the_page_shows_can_be_configured(tmp_path: Path) -> None:
    shown = (REFERENCE / "settings.md").read_text().partition("## A prompt in the file")[2]
    file = tmp_path / "antiphon.toml"
    file.write_text(shown.partition("```toml\n")[2].partition("```")[0])
    (found,) = named_prompts(load_settings({}, {}, file=file).prompts).values()
    assert variables_of(found.template) == ["customer", "language"]


def test_the_file_that_the_page_shows_is_one(tmp_path: Path) -> None:
    shown = (REFERENCE / "settings.md").read_text().partition("```toml\n")[2].partition("```")[0]
    file = tmp_path / "antiphon.toml"
    file.write_text(shown)
    settings = load_settings({}, {}, file=file)
    assert [backend.url for backend in settings.backends] == [one["url"] for one in tomllib.loads(shown)["backends"]]
    assert settings.backends[1].key_env == "GROQ_API_KEY"
