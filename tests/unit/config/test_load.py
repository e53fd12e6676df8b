"""Settings from four places, and what is said where one is wrong."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from antiphon.config import (
    BackendConfig,
    ModelConfig,
    PromptConfig,
    Settings,
    key_of,
    load_settings,
)
from antiphon.errors import ConfigError

OLLAMA = "http://127.0.0.1:11434/v1"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(
    environment: dict[str, str] | None = None, file: Path | None = None, **flags: Any
) -> Settings:
    return load_settings(flags, environment or {}, file)


def refusal(
    environment: dict[str, str] | None = None, file: Path | None = None, **flags: Any
) -> str:
    with pytest.raises(ConfigError) as caught:
        load(environment, file, **flags)
    return caught.value.message


def write(text: str, name: str = "antiphon.toml") -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def test_nothing_needs_to_be_set() -> None:
    settings = load()

    assert (settings.host, settings.port, settings.backends) == ("127.0.0.1", 8321, [])
    assert settings.store == "sqlite:///~/.local/share/antiphon/antiphon.db"


def test_precedence_is_flag_then_environment_then_file_then_default() -> None:
    write("port = 1\nhost = 'file'\nlog_level = 'error'\nretention_days = 7")
    settings = load({"ANTIPHON_PORT": "2", "ANTIPHON_HOST": "environment"}, port=3, host=None)

    assert (settings.port, settings.host, settings.log_level) == (3, "environment", "error")
    assert (settings.retention_days, settings.idle_timeout) == (7, 120.0)


def test_every_setting_can_be_an_environment_variable() -> None:
    reported = {
        "HOST": "::1",
        "PORT": "0",
        "STORE": "sqlite://",
        "RETENTION_DAYS": "3",
        "FACTS": "false",
        "CONSOLE": "false",
        "CONSOLE_BODIES": "true",
        "STRICT_TOOLS": "true",
        "STRICT_SEALS": "true",
        "SEAL_KEYS": "one, two",
        "BACKENDS": f"{OLLAMA}, http://b/v1",
        "CONNECT_TIMEOUT": "0.5",
        "FIRST_BYTE_TIMEOUT": "10",
        "IDLE_TIMEOUT": "20",
        "LOG_LEVEL": "debug",
        "STORE_CONNECTIONS": "5",
        "WORKERS": "2",
        "BACKGROUND_JOBS": "0",
        "BACKGROUND_JOBS_PER_TENANT": "4",
        "BACKGROUND_QUEUE_PER_TENANT": "5",
        "PURGE_FRACTION": "0.5",
        "GRACE": "2.5",
        "WEBHOOK_PRIVATE_ADDRESSES": "true",
        "WEBSOCKET": "false",
        "FALLBACK": "a=b,c d=e",
        "MESSAGES_MODELS": "claude-haiku-*=small:v1 claude-*=m",
        "IMAGES_BACKEND": "http://127.0.0.1:8188/v1",
        "IMAGES_MODEL": "painter",
        "IMAGES_KEY_ENV": "IMAGES_KEY",
        "IMAGES_TIMEOUT": "20",
        "IMAGES_RUNNING": "3",
        "TOOL_ROUNDS": "3",
        "TOOL_TIME": "60",
        "LOOP_CALLS": "0",
        "LOOP_TEXT": "5000",
        "CHECK_INTERVAL": "0",
        "MODELS": '[{"name": "m", "context_window": 8192}]',
        "PROMPTS": '{"support": {"instructions": "You help {{customer}}."}}',
        "PROBE": "auto",
        "COMPARE_PROMPTS": "false",
        "VISION": "eye",
        "CACHE_TTL": "60",
        "CACHE_SIZE": "8",
        "CACHE_EMBEDDINGS": "e",
        "CACHE_SIMILARITY": "0.9",
        "SEARCH_EMBEDDINGS": "nomic",
        "SEARCH_EMBEDDINGS_BATCH": "10",
        "SEARCH_CHUNK_TOKENS": "bge=350 nomic:v1.5=600",
        "METRICS": "false",
        "METRICS_KEY_ENV": "WATCH_KEY",
        "METRICS_NETWORKS": "10.2.0.0/16, ::1",
        "METRICS_LISTEN": "[::1]:9321",
        "METRICS_TENANTS": "20",
        "TRACE_ENDPOINT": "http://127.0.0.1:4318",
        "TRACE_CONTENT": "true",
        "LOG_FORMAT": "json",
        "ACCESS_LOG": "true",
        "MAX_BODY": "2000",
        "MAX_BODIES": "3000",
        "MAX_CONNECTIONS": "4",
        "ALLOWED_HOSTS": "a.example, b.example",
        "ALLOWED_ORIGINS": "https://a.example",
        "OUTGOING_NETWORKS": "10.1.0.0/16,fd00::/8, 127.0.0.1",
        "MCP_SERVERS": "files=https://a.example/mcp?x=1 mail=http://10.1.2.3/mcp",
        "MCP_LIST_TTL": "5",
        "MCP_LIST_FAILURE": "continue",
        "MCP_TOOL_TIMEOUT": "2.5",
        "WEB_SEARCH": "brave",
        "WEB_SEARCH_URL": "http://10.1.2.3/search",
        "WEB_SEARCH_KEY_ENV": "MY_KEY",
        "WEB_SEARCH_TIMEOUT": "3",
        "WEB_SEARCH_RESULTS": "4",
        "CODE_SANDBOX": "e2b",
        "CODE_PYTHON": "/opt/code/bin/python",
        "CODE_TIMEOUT": "5",
        "CODE_MEMORY_MAX": "16g",
        "CODE_KERNELS_PER_TENANT": "3",
        "CODE_RUNNING": "6",
        "CODE_CONTAINERS_PER_TENANT": "7",
        "CODE_CORES_PER_TENANT": "1.5",
        "CODE_E2B_URL": "https://e2b.example",
        "CODE_E2B_KEY_ENV": "SANDBOX_KEY",
        "CODE_E2B_TEMPLATE": "python",
        "WEBHOOK_ENDPOINTS_PER_TENANT": "3",
        "MAX_CONNECTION_BYTES": "5000",
        "MAX_RESPONSES": "77",
        "MAX_ITEMS": "6",
        "MAX_HISTORY_ITEMS": "7",
        "MAX_HISTORY_BYTES": "8000",
        "MAX_CONVERSATION_ITEMS": "9",
        "MAX_CONVERSATION_BYTES": "10000",
        "MAX_STORED_BYTES": "11",
        "FILE_STORAGE": "s3://files/a",
        "FILE_STORAGE_ENDPOINT": "http://127.0.0.1:9000",
        "FILE_STORAGE_REGION": "eu-central-1",
        "MAX_FILE": "2000",
        "MAX_UPLOAD": "3000",
        "MAX_FILES": "12",
        "MAX_FILE_BYTES": "4000",
        "CURRENCY": "EUR",
        "AGENTS": "refunds, shout",
        "AGENT_PIN_WAIT": "600",
        "MAX_AGENT_STEPS": "500",
        "MAX_STEP_BYTES": "2000",
        "MAX_JOURNAL_BYTES": "3000",
        "RESERVED_OUTPUT_TOKENS": "2000",
    }
    settings = load({f"ANTIPHON_{name}": value for name, value in reported.items()})

    assert {name.lower() for name in reported} == set(Settings.__struct_fields__), (
        "add a value above"
    )
    assert [backend.url for backend in settings.backends] == [OLLAMA, "http://b/v1"]
    assert (settings.connect_timeout, settings.first_byte_timeout, settings.idle_timeout) == (
        0.5,
        10.0,
        20.0,
    )
    assert (settings.host, settings.port, settings.retention_days) == ("::1", 0, 3)
    assert (settings.store_connections, settings.workers, settings.grace) == (5, 2, 2.5)
    assert (settings.background_jobs, settings.background_jobs_per_tenant) == (0, 4)
    assert settings.webhook_private_addresses
    assert not settings.websocket
    assert (settings.models, settings.probe) == (
        [ModelConfig(name="m", context_window=8192)],
        "auto",
    )
    assert settings.prompts == {"support": PromptConfig(instructions="You help {{customer}}.")}
    assert (settings.cache_ttl, settings.cache_size) == (60, 8)
    assert (settings.cache_embeddings, settings.cache_similarity) == ("e", 0.9)
    assert (settings.search_embeddings, settings.search_embeddings_batch) == ("nomic", 10)
    assert settings.search_chunk_tokens == {"bge": 350, "nomic:v1.5": 600}
    assert settings.messages_models == {"claude-haiku-*": "small:v1", "claude-*": "m"}
    assert (settings.fallback, settings.check_interval) == ({"a": ["b", "c"], "d": ["e"]}, 0.0)
    assert (settings.max_body, settings.max_bodies, settings.max_connections) == (2000, 3000, 4)
    assert (settings.max_connection_bytes, settings.max_responses) == (5000, 77)
    assert (settings.max_items, settings.max_history_items, settings.max_history_bytes) == (
        6,
        7,
        8000,
    )
    assert (settings.max_conversation_items, settings.max_conversation_bytes) == (9, 10_000)
    assert settings.max_stored_bytes == 11
    assert (settings.allowed_hosts, settings.allowed_origins) == (
        ["a.example", "b.example"],
        ["https://a.example"],
    )
    assert [(one.label, one.url) for one in settings.mcp_servers] == [
        ("files", "https://a.example/mcp?x=1"),
        ("mail", "http://10.1.2.3/mcp"),
    ]
    assert (settings.loop_calls, settings.loop_text) == (0, 5000)
    assert (settings.mcp_list_ttl, settings.mcp_tool_timeout) == (5.0, 2.5)
    assert (settings.web_search, settings.web_search_url) == ("brave", "http://10.1.2.3/search")
    assert (settings.web_search_key_env, settings.web_search_timeout) == ("MY_KEY", 3.0)
    assert settings.web_search_results == 4
    assert (settings.metrics_key_env, settings.metrics_networks) == (
        "WATCH_KEY",
        ["10.2.0.0/16", "::1"],
    )
    assert (settings.metrics_listen, settings.metrics_tenants) == ("[::1]:9321", 20)
    assert settings.outgoing_networks == ["10.1.0.0/16", "fd00::/8", "127.0.0.1"]
    assert (settings.code_sandbox, settings.code_python) == ("e2b", "/opt/code/bin/python")
    assert (settings.code_timeout, settings.code_memory_max) == (5.0, "16g")
    assert (settings.code_kernels_per_tenant, settings.code_running) == (3, 6)
    assert (settings.code_containers_per_tenant, settings.code_cores_per_tenant) == (7, 1.5)
    assert (settings.code_e2b_url, settings.code_e2b_key_env) == (
        "https://e2b.example",
        "SANDBOX_KEY",
    )
    assert settings.code_e2b_template == "python"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"code_sandbox": "docker"}, "code_sandbox"),
        ({"code_memory_max": "2g"}, "code_memory_max"),
        ({"code_python": "bin/python"}, "which is not an absolute path"),
        ({"code_sandbox": "e2b"}, "Set code_e2b_url"),
        ({"code_e2b_url": "https://key@e2b.example"}, "is not valid"),
    ],
)
def test_settings_of_a_sandbox_that_cannot_be_are_refused(
    values: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        load({f"ANTIPHON_{name.upper()}": value for name, value in values.items()})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("allowed_hosts", "https://a.example"),
        ("allowed_hosts", "a.example:443"),
        ("allowed_hosts", "a.example/path"),
        ("allowed_origins", "a.example"),
        ("allowed_origins", "https://a.example/"),
        ("allowed_origins", "https://A.example"),
        *(("metrics_networks", "10.1.2.3/8"), ("metrics_networks", "loopback")),
        ("outgoing_networks", "intranet.example"),
        ("outgoing_networks", "10.1.2.3/8"),
        ("outgoing_networks", "10.0.0.0/33"),
    ],
)
def test_a_name_that_no_request_can_have_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} has '{value}'"):
        load({f"ANTIPHON_{name.upper()}": value})


@pytest.mark.parametrize(
    "value", ["http://127.0.0.1:8888", "https://search.example/searxng/", "brave", "tavily"]
)
def test_one_setting_selects_the_web_search_provider(value: str) -> None:
    assert load({"ANTIPHON_WEB_SEARCH": value}).web_search == value
    assert load(file=write(f"web_search = '{value}'")).web_search == value


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"web_search": "bing"}, "web_search is 'bing', which is not a provider"),
        ({"web_search": "searxng"}, "Set web_search_url to the URL of the instance"),
        ({"web_search": "ftp://search.example"}, "is not valid"),
        ({"web_search": "http://me:secret@search.example"}, "without a password"),
        ({"web_search": "http://search.example/?key=secret"}, "web_search_key_env"),
        (
            {"web_search": "brave", "web_search_url": "search.example"},
            "'search.example' is not valid",
        ),
        ({"web_search": "brave", "web_search_results": "21"}, "web_search_results"),
        ({"web_search": "brave", "web_search_timeout": "0"}, "web_search_timeout"),
    ],
)
def test_an_impossible_web_search_is_refused(values: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        load({f"ANTIPHON_{name.upper()}": value for name, value in values.items()})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"file_storage": "files"},
            "which is neither the absolute path of a directory nor a bucket",
        ),
        ({"file_storage": "s3://"}, "which is not a bucket"),
        ({"file_storage": "s3://key:secret@bucket/a"}, "which is not a bucket"),
        (
            {"file_storage": "s3://bucket", "file_storage_endpoint": "http://a:secret@b"},
            "is not valid",
        ),
        (
            {"file_storage": "s3://bucket", "file_storage_endpoint": "127.0.0.1:9000"},
            "is not valid",
        ),
        ({"max_file": "10"}, "max_file"),
    ],
)
def test_a_place_that_cannot_hold_files_is_refused(values: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)) as refused:
        load({f"ANTIPHON_{name.upper()}": value for name, value in values.items()})
    assert "secret" not in str(refused.value)


def test_an_empty_variable_is_unset() -> None:
    assert load({"ANTIPHON_PORT": "", "ANTIPHON_CONFIG": ""}).port == 8321


def test_a_variable_that_is_no_setting_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    load({"ANTIPHON_PROT": "1", "ANTIPHON_CONFIG": "", "OTHER": "1"})

    assert "Unknown setting ANTIPHON_PROT is ignored. Did you mean ANTIPHON_PORT?" in caplog.text
    assert "OTHER" not in caplog.text.replace("ANTIPHON_PROT", "")


def test_the_file_describes_backends() -> None:
    write(
        f'[[backends]]\nurl = "{OLLAMA}"\n[[backends]]\nurl = "https://x/v1"\nname = "x"\nkey_env '
        '= "X_KEY"\n'
    )
    first, second = load().backends

    assert first == BackendConfig(url=OLLAMA)
    assert (second.name, second.key_env, second.dialect) == ("x", "X_KEY", "")


def test_two_backends_of_one_name_are_refused() -> None:
    table = f"[[backends]]\nurl = '{OLLAMA}'\n"

    assert "2 backends have the name 'big'" in refusal(file=write(2 * (table + "name = 'big'\n")))
    assert len(load(file=write(2 * table)).backends) == 2


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("label = 'a b'\nurl = 'https://a/mcp'", "label 'a b'"),
        ("label = 'a'", "either a `url` or a `command`"),
        ("label = 'a'\nurl = 'https://a/mcp'\ncommand = 'npx'", "either a `url` or a `command`"),
        ("label = 'a'\nurl = 'ftp://a/mcp'", "is not valid"),
        ("label = 'a'\nurl = 'https://me:sk-secret@a/mcp'", "holds the key in `key_env`"),
        ("label = 'a'\ncommand = 'npx'\nkey_env = 'K'", "is a program"),
        ("label = 'a'\ncommand = 'npx'\ntransport = 'sse'", "is a program"),
        ("label = 'a'\nurl = 'https://a/mcp'\nargs = ['x']", "apply to a `command` only"),
        (
            "label = 'a'\nurl = 'https://a/mcp'\n[[mcp_servers]]\nlabel = 'a'\ncommand = 'x'",
            "2 MCP servers have the label",
        ),
        (
            "label = 'a'\ncommand = 'x'\nconnector = 'c'\n[[mcp_servers]]\nlabel = 'b'\ncommand = "
            "'x'\nconnector = 'c'",
            "2 MCP servers have the connector",
        ),
    ],
)
def test_an_unusable_mcp_server_is_refused(table: str, words: str) -> None:
    message = refusal(file=write(f"[[mcp_servers]]\n{table}"))

    assert words in message
    assert "sk-secret" not in message


def test_backends_on_the_command_line_replace_those_of_the_file() -> None:
    write(f'backends = ["{OLLAMA}"]')

    assert [backend.url for backend in load(backends=["http://b/v1"]).backends] == ["http://b/v1"]


def test_a_file_can_be_named_by_flag_or_variable() -> None:
    one = write("port = 1", "one.toml")
    two = write("port = 2", "two.toml")

    assert load({"ANTIPHON_CONFIG": str(one)}).port == 1
    assert load({"ANTIPHON_CONFIG": str(one)}, two).port == 2


def test_a_file_is_utf_8_wherever_it_is_read() -> None:
    assert (
        load(file=write("[[backends]]\nurl = 'http://b/v1'\nname = 'Küche'", "k.toml"))
        .backends[0]
        .name
        == "Küche"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port = ", "not valid TOML"),
        ("port = 99999", "port"),
        ("port = 'x'", "port"),
        ("prot = 1", "prot"),
        ("retention_days = 0", "retention_days"),
        ("retention_days = 100000000000", "retention_days"),
        ("idle_timeout = -1", "idle_timeout"),
        ("log_level = 'loud'", "loud"),
        ("backends = 1", "backends"),
        ("[[backends]]\nname = 'x'", "url"),
        ("[[backends]]\nurl = 'http://b/v1'\nweight = 0", "weight"),
        ("[[backends]]\nurl = 'http://b/v1'\nmodels = 'x'", "models"),
        ("[[backends]]\nurl = 'http://b/v1'\nkey = 'sk-secret'", "key"),
    ],
)
def test_a_wrong_file_is_refused_by_name(text: str, words: str) -> None:
    message = refusal(file=write(text))

    assert words in message
    assert "sk-secret" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log_levle = 'info'", "wrong: unknown setting `log_levle`. Did you mean `log_level`?"),
        ("xyz = 1", "wrong: unknown setting `xyz`."),
        ("log_level = 'inf'", "Did you mean 'info'?"),
        (
            "log_level = 'loud'",
            "`log_level` is 'loud', which is not allowed. Allowed: debug, info, warning, error.",
        ),
        ("workers = 300", "wrong: `workers` must be a whole number, at least 1 and at most 256."),
        ("purge_fraction = 0", "wrong: `purge_fraction` must be a number, above 0 and at most 1."),
        ("host = 1", "wrong: `host` must be text, not a number."),
        ("websocket = 'maybe'", "wrong: `websocket` must be true or false."),
        (
            "[[backends]]\nurl = 'http://b/v1'\nidle_timeout = -1",
            "wrong: backend 1: `idle_timeout` must be a number, above 0.",
        ),
        ("[fallback]\nm = 3", """each value of `fallback` must be a list, such as ["name"]."""),
        (
            "fallback = 'm'",
            """`fallback` must be a table, such as { name = ["name"] }, not text.""",
        ),
        (
            "backends = [3]",
            ": backend 1: it must be a table, not a number. "
            "Begin each table with a line [[backends]]",
        ),
        (
            "backends = 'http://b/v1'",
            "`backends` must be a list of tables, not text. Begin each table with a line [[",
        ),
        (
            "[models]\nname = 'm'",
            "`models` must be a list of tables, not a table. "
            "Begin each table with a line [[models]]",
        ),
        (
            "[backend]\nurl = 'http://b/v1'",
            "Did you mean `backends`? Begin the table with [[backends]].",
        ),
        (
            "url = 'http://b/v1'",
            "unknown setting `url`. It is a key of [[backends]] and [[mcp_servers]]: move it",
        ),
        (
            "[[backends]]\nurl = 'http://b/v1'\nport = 1",
            "It is a setting of the server: move it above the first [[",
        ),
        (
            "workers = [1]",
            "`workers` must be a whole number, at least 1 and at most 256, not a list.",
        ),
        ("workers = true", "must be a whole number, at least 1 and at most 256, not a boolean."),
        (
            "[[backends]]\nurl = 'http://b/v1'\nmodels = 'x'",
            """`models` must be a list, such as ["name"] or "*", not text.""",
        ),
        (
            "[[backends]]\nurl = 'http://b/v1'\naliases = { a = 1 }",
            "backend 1: each value of `aliases` must be text.",
        ),
        (
            "[[models]]\nname = 'm'\nefforts = { huge = {} }",
            "`efforts` has a key that is not allowed. Allowed: none, ",
        ),
        (
            "[[models]]\nname = 'm'\nvision = 'typo'",
            "model 1 ('m'): `vision` must be true or false.",
        ),
        ("[[backends]]\nurl = 'http://b/v1'\n[[backends]]\nname = 'x'", ": backend 2 ('x'): "),
        (
            "[[backends]]\nurl = 'http://b/v1'\nwieght = 2",
            "backend 1: unknown key `wieght`. Did you mean `weight`?",
        ),
        (
            "[[mcp_servers]]\nurl = 'http://b/mcp'",
            "MCP server 1: the required key `label` is missing.",
        ),
        (
            "[prompts.p]\ninstruction = 'x'",
            "a prompt: unknown key `instruction`. Did you mean `instructions`?",
        ),
        (
            "[prompts.p]\nversion = 'x'",
            "a prompt: `prompts.version` must be a whole number, at least 1 and at most",
        ),
        ("[prompts]\np = 'x'", "a prompt: each value of `prompts` must be a table."),
        (
            "[[mcp_servers]]\nlabel = 'x'\ncomand = 'npx'",
            "MCP server 1 ('x'): unknown key `comand`. Did you mean `command`?",
        ),
        (
            "[[backends]]\nurl = 'http://b/v1'\nname = 'x'\napi = 'c'",
            "backend 1 ('x'): `api` is 'c', which is not allowed. Allowed: "
            "auto, chat, responses, messages, ollama.",
        ),
    ],
)
def test_a_refusal_names_the_file_the_backend_and_what_would_be_right(
    text: str, words: str
) -> None:
    message = refusal({"ANTIPHON_PORT": "1"}, file=write(text, "own.toml"))

    assert message.startswith("The file own.toml is wrong: ")
    assert words in message
    assert not re.search(r"Expected|Object|enum|array|`(?:str|int|dict)`", message), (
        "a decoder's wording"
    )


def test_a_refusal_names_the_variable_that_overrides_the_file() -> None:
    write("port = 1")

    assert refusal({"ANTIPHON_PORT": "x"}).startswith("The variable ANTIPHON_PORT is wrong: ")
    assert refusal({"ANTIPHON_PORT": "x"}, port="y").startswith("The flag --port is wrong: ")


def test_a_file_that_is_not_there_or_none_is_refused() -> None:
    assert "cannot be read" in refusal(file=Path("nowhere.toml"))
    assert "cannot be read" in refusal({"ANTIPHON_CONFIG": "."})
    Path("antiphon.toml").write_bytes(b"\xff\xfe")
    assert "not valid TOML" in refusal()


@pytest.mark.parametrize(
    "url",
    [
        "http://sk-secret@host/v1",
        "https://user:sk-secret@host/v1",
        "http://host/v1?api_key=sk-secret",
        "http://host/v1#sk-secret",
    ],
)
@pytest.mark.parametrize("where", ["flag", "environment", "file"])
def test_a_key_in_a_url_is_refused_and_not_repeated(url: str, where: str) -> None:
    message = {
        "flag": lambda: refusal(backends=[url]),
        "environment": lambda: refusal({"ANTIPHON_BACKENDS": url}),
        "file": lambda: refusal(file=write(f"[[backends]]\nurl = '{url}'")),
    }[where]()

    assert "key_env" in message
    assert "sk-secret" not in message


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("client_key = 'key.pem'", "without a `client_cert`"),
        ("proxy = 'http://me:sk-secret@proxy:3128'", "HTTPS_PROXY"),
        ("proxy = 3128", "proxy"),
    ],
)
def test_failed_connections_are_refused_without_displaying_a_password(
    line: str, advice: str
) -> None:
    message = refusal(file=write(f"[[backends]]\nurl = 'https://h/v1'\n{line}"))

    assert advice in message
    assert "sk-secret" not in message


@pytest.mark.parametrize(
    "url", ["127.0.0.1:11434", "", "http://", "http://[::1/v1", "http://h:x/v1"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    assert "not a URL" in refusal(backends=[url])


def test_a_url_of_another_scheme_is_refused_by_its_scheme() -> None:
    stated = refusal(backends=["ftp://host/v1"])
    assert "'ftp://host/v1' has the scheme 'ftp'" in stated


def test_a_key_comes_from_the_variable_that_is_named() -> None:
    backend = BackendConfig(url="http://b/v1", key_env="MY_KEY")

    assert key_of(backend, {"MY_KEY": "sk-1\n"}) == "sk-1"
    assert key_of(BackendConfig(url="http://b/v1"), {"MY_KEY": "sk-1"}) == ""
    for environment in ({}, {"MY_KEY": ""}, {"MY_KEY": " "}):
        with pytest.raises(ConfigError, match="MY_KEY, which is not set"):
            key_of(backend, environment)


def test_a_key_that_no_header_can_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match="MY_KEY") as caught:
        key_of(BackendConfig(url="http://b/v1", key_env="MY_KEY"), {"MY_KEY": "sk\r\nx-evil: 1"})
    assert "evil" not in caught.value.message


def test_a_mistake_in_a_models_table_names_the_model_and_the_key() -> None:
    write("[[models]]\nname = 'm'\ncontext_window = 'big'")
    assert "model 1 ('m'): `context_window` must be a whole number, at least 256" in refusal()
    write("[[models]]\nname = 'm'\ncontext_windw = 1")
    assert "Did you mean `context_window`?" in refusal()
    write("[[models]]\nname = 'm'\ntools = 'text'")
    assert refusal().endswith(
        "model 1 ('m'): `tools` is 'text', which is not allowed. Allowed: native, prompt, schema."
    )


def test_a_mistake_in_prices_names_the_model_and_the_price() -> None:
    for prices, words in (
        (
            "{ input = -1, output = 1 }",
            "model 1 ('m'): `prices.input` must be a number, at least 0 and at most 1000000.",
        ),
        ("{ input = 1 }", "model 1 ('m'): the required key `prices.output` is missing. Add it."),
        ("3", "model 1 ('m'): `prices` must be a table, not a number."),
    ):
        write(f"[[models]]\nname = 'm'\nprices = {prices}")
        assert words in refusal()


def test_models_in_the_environment_are_json() -> None:
    assert "ANTIPHON_MODELS is wrong" in refusal({"ANTIPHON_MODELS": "m"})
