"""The page of settings is generated from the settings classes and the texts below their fields.

`python -m tests.unit.reference.test_settings_page --update` writes it.
"""

import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
import typer
from msgspec import Meta, Struct

from antiphon.build import check_backends
from antiphon.build.prompts import named_prompts
from antiphon.cli.main import app
from antiphon.config import (
    PREFIX,
    BackendConfig,
    McpServerConfig,
    ModelConfig,
    PromptConfig,
    Settings,
    load_settings,
)
from antiphon.config.models import PriceConfig
from antiphon.protocol.templates import variables_of
from tests.support.cases import each
from tests.support.described import Described, described
from tests.support.pages import REFERENCE

PAGE = REFERENCE / "settings.md"
COMMAND = "python -m tests.unit.reference.test_settings_page --update"
NOT_SETTINGS = {"--config", "--help", "--agents"}
TABLES = (BackendConfig, ModelConfig, McpServerConfig, PromptConfig)

INTRODUCTION = """\
<!-- Generated: python -m tests.unit.reference.test_settings_page --update -->

# Settings

Every setting has a default, so a server starts without any configuration. Set a value with a flag, an environment
variable or the settings file. Precedence: flag, environment variable, file, default.

The file is `antiphon.toml` in the working directory, or the file that `--config` or `ANTIPHON_CONFIG` names:

```toml
port = 8321
store = "sqlite:///~/answers.db"

[[backends]]
url = "http://127.0.0.1:11434/v1"

[[backends]]
url = "https://api.groq.com/openai/v1"
name = "groq"
key_env = "GROQ_API_KEY"
```

Below each setting you find its type with the allowed range, its default, its environment variable, and its flag of
[`antiphon serve`](cli.md) if it has one. In an environment variable, write a boolean as `true` or `false`. An unknown
setting or an invalid value in the file ends the command with exit code 2 and a message that names it. [`antiphon
doctor`](cli.md#check-an-installation) checks the settings without starting a server.

The server reads `backends`, `fallback` and `models` again when it receives `SIGHUP`: [change backends at run
time](../operate/route-across-backends.md#reload-the-settings-without-a-restart). Other settings need a restart. A
`SIGHUP` during the start of the server takes effect when the server is ready; several at the same time count as one.

"""  # noqa: E501 - the lines of a text

NO_BACKEND = """
## No backend configured

If the settings name no backend, Antiphon uses those that it finds, in this order:

1. `OPENAI_BASE_URL` and `OPENAI_API_KEY`: if one of them is set, this backend is the first. A key without a URL means
   OpenAI itself. A URL of this server is ignored, because it was set for the clients on this machine.
2. Ollama on port 11434, LM Studio on 1234, llama.cpp on 8080, vLLM on 8000, all at the same time. Each has 0.3 s to
   respond.
3. If it finds none: the scripted model `demo`.
"""  # noqa: E501 - the lines of a text

BACKENDS = """
## A backend in the file

Each `[[backends]]` table configures one backend. Several backends can serve [the same
model](../operate/route-across-backends.md#balance-load-between-backends).
"""

MODELS = """
## A model in the file

Each `[[models]]` table configures one model, at one backend or at every backend. [Probe a
model](../guides/probe-a-model.md) explains when you need one.

```toml
[[backends]]
url = "http://127.0.0.1:8080/v1"
name = "gpu"

[[models]]
name = "qwen3:8b"
backend = "gpu"
system_prompt = "Answer in French."
parameters = { temperature = 0.6, top_p = 0.95, top_k = 20 }
stop = ["<|endoftext|>"]
effort = "low"
context_window = 32768

[models.efforts]
none = { chat_template_kwargs = { enable_thinking = false } }
low = { thinking_budget_tokens = 1024 }
high = { thinking_budget_tokens = 16384 }

[[models]]
name = "*"
vision = false
```

Values in a request always take precedence over the defaults of a model. The defaults apply to the Responses API only,
not to `/v1/chat/completions`. A backend that is [called through its own Responses
API](../operate/route-across-backends.md#use-backends-with-a-responses-api) receives the system prompt, the effort, and
those of the `parameters` that this API has.

Precedence of a fact: your value, the value that a probe measured, the value of the [dialect](dialects.md). If several
tables match a model, a table with the model's name takes precedence over `"*"`, a table with a `backend` over one
without, and an alias over the backend's own name.
"""  # noqa: E501 - the lines of a text

PROMPTS = """
## A prompt in the file

Each `[prompts.ID]` table is a [prompt](endpoints.md#prompts). Requests of all tenants can use it by its ID, which
consists of letters, digits, `_` and `-`. The API cannot change it.

```toml
[prompts.support]
instructions = "You help {{customer}} with their order. Answer in {{ language }}."
model = "qwen3"
defaults = { temperature = 0.2, max_output_tokens = 500 }
```
"""  # noqa: E501 - the lines of a text

MCP_SERVERS = """
## An MCP server in the file

Each `[[mcp_servers]]` table configures one [MCP server](../hosted-tools/mcp-servers.md), with either a `url` or a
`command`.

```toml
[[mcp_servers]]
label = "tickets"
url = "https://tickets.example/mcp"
key_env = "TICKETS_KEY"

[[mcp_servers]]
label = "files"
command = "mcp-server-filesystem"
args = ["/srv/documents"]
```
"""  # noqa: E501 - the lines of a text

SECTIONS: tuple[tuple[str, type[Struct], str], ...] = (
    ("backends", BackendConfig, BACKENDS),
    ("models", ModelConfig, MODELS),
    ("prompts", PromptConfig, PROMPTS),
    ("mcp_servers", McpServerConfig, MCP_SERVERS),
)
"""The tables of the file, each with the text above its keys."""

WORDS: dict[Any, str] = {
    int: "integer",
    float: "number",
    bool: "boolean",
    str: "string",
    Any: "any value",
}


def page() -> str:
    groups = grouped(described(Settings))
    parts = [INTRODUCTION, *index(groups)]
    for title, fields in groups.items():
        parts.append(f"\n## {title}\n")
        parts += [entry(Settings, one, flags().get(one.name, "")) for one in fields]
    for table, kind, words in SECTIONS:
        parts.append(words)
        for title, fields in grouped(described(kind)).items():
            parts += [f"\n**{title}**\n"] if title else []
            parts += [entry(kind, one, table=table) for one in fields]
    return "".join([*parts, NO_BACKEND])


def grouped(fields: Iterable[Described]) -> dict[str, list[Described]]:
    groups: dict[str, list[Described]] = {}
    for one in fields:
        groups.setdefault(one.group, []).append(one)
    return groups


def index(groups: dict[str, list[Described]]) -> Iterator[str]:
    """A line of links for each group and each table."""
    for title, fields in groups.items():
        yield _wrapped(
            f"- **{title}**: " + ", ".join(f"[`{one.name}`](#{one.name})" for one in fields), "  "
        )
    for table, kind, _ in SECTIONS:
        links = ", ".join(f"[`{one.name}`](#{table}{one.name})" for one in described(kind))
        yield _wrapped(f"- **Keys of `{table}`**: {links}", "  ")


def _wrapped(line: str, indent: str = "") -> str:
    return (
        textwrap.fill(
            line, 140, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        + "\n"
    )


def entry(kind: type[Struct], one: Described, flag: str = "", table: str = "") -> str:
    """A setting's heading, the line with its facts, and its description."""
    facts = [type_of(kind, one.name), default_of(kind, one.name)]
    facts += [] if table else [f"`{PREFIX}{one.name.upper()}`"]
    facts += [f"`{flag}`"] if flag else []
    heading = f"{table}.{one.name}" if table else one.name
    return f"\n### `{heading}`\n\n{' · '.join(facts)}\n\n{_wrapped(one.text)}"


def type_of(kind: type[Struct], name: str) -> str:
    return _type(hints(kind)[name])


@cache
def hints(kind: type[Struct]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _type(kind: Any) -> str:
    origin = get_origin(kind)
    parts = get_args(kind)
    if origin is Annotated:
        return _type(parts[0]) + "".join(
            _range(one, parts[0]) for one in parts[1:] if isinstance(one, Meta)
        )
    if origin is Literal:
        return " or ".join(f"`{json.dumps(one)}`" for one in parts).replace(
            " or ", ", ", len(parts) - 2
        )
    if origin in {list, tuple}:
        is_table = isinstance(parts[0], type) and issubclass(parts[0], Struct)
        return "list of tables" if is_table else f"list of {_plural(_type(parts[0]))}"
    if origin is dict:
        return "table"
    if parts:
        return " or ".join(_type(one) for one in parts if one is not NoneType)
    return "table" if issubclass(kind, Struct) else WORDS[kind]


def _plural(words: str) -> str:
    return words if words.startswith("`") else {"string": "strings", "table": "tables"}[words]


def _range(meta: Meta, of: type[Any]) -> str:
    if of is str:
        return f", {meta.min_length} to {meta.max_length} characters"
    if meta.ge is not None and meta.le is not None:
        return f", {_number(meta.ge)} to {_number(meta.le)}"
    limits = (("at least", meta.ge), ("above", meta.gt), ("at most", meta.le))
    return "".join(f", {word} {_number(limit)}" for word, limit in limits if limit is not None)


def _number(value: float) -> str:
    return f"{value:,}"


def default_of(kind: type[Struct], name: str) -> str:
    (field,) = (one for one in msgspec.structs.fields(kind) if one.name == name)
    if field.required:
        return "required"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if default is None:
        return "optional"
    return f"default `{json.dumps(default)}`{_large(default)}"


def _large(value: object) -> str:
    """A number of bytes as people read it."""
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2)):
        if isinstance(value, int) and value >= size and value % size == 0:
            return f" ({value // size} {unit})"
    return ""


@cache
def flags() -> dict[str, str]:
    """The flag of each setting that has one."""
    serve = typer.main.get_command(app).get_command(None, "serve")  # type: ignore[attr-defined, arg-type]
    options = {opt: parameter.name for parameter in serve.params for opt in parameter.opts} | {
        "--backend": "backends"
    }
    return {str(name): opt for opt, name in options.items() if opt not in NOT_SETTINGS}


def examples() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def loaded(displayed: str, folder: Path) -> Settings:
    file = folder / "antiphon.toml"
    file.write_text(displayed)
    return load_settings({}, {}, file=file)


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), f"write it again: {COMMAND}"


@pytest.mark.parametrize("kind", [Settings, PriceConfig, *TABLES])
def test_every_field_has_a_description(kind: type[Struct]) -> None:
    fields = described(kind)
    assert [one.name for one in fields] == list(kind.__struct_fields__)
    assert [one.name for one in fields if not one.text.endswith((".", ")"))] == []


def test_every_setting_is_in_a_group() -> None:
    assert "" not in grouped(described(Settings))


def test_every_flag_of_serve_is_a_setting() -> None:
    assert flags().keys() <= set(Settings.__struct_fields__)


SAMPLES = {
    **dict.fromkeys(
        (
            "webhook_private_addresses",
            "strict_tools",
            "strict_seals",
            "access_log",
            "trace_content",
        ),
        "true",
    ),
    **dict.fromkeys(("compare_prompts", "websocket", "metrics", "facts", "console"), "false"),
    **dict.fromkeys(
        ("max_body", "max_bodies", "max_connection_bytes", "max_history_bytes"), "7000"
    ),
    **dict.fromkeys(("max_conversation_bytes", "max_file", "max_upload", "max_file_bytes"), "7000"),
    "access_log": "true",
    "allowed_origins": "https://a",
    "backends": "http://a/v1, http://b/v1",
    "cache_similarity": "1",
    "code_e2b_url": "https://api.e2b.app",
    "code_memory_max": "1g",
    "code_python": "/opt/code/bin/python",
    "code_sandbox": "bubblewrap",
    "console_bodies": "true",
    "fallback": "a=b",
    "messages_models": "claude-*=m",
    "file_storage": "/files",
    "file_storage_endpoint": "http://127.0.0.1:9000",
    "host": "::1",
    "images_backend": "http://127.0.0.1:8080/v1",
    "log_format": "json",
    "search_chunk_tokens": "a=350",
    "log_level": "debug",
    "mcp_list_failure": "continue",
    "mcp_servers": "files=https://a/mcp",
    "metrics_listen": "127.0.0.1:9321",
    "metrics_networks": "10.0.0.0/8",
    "models": '[{"name": "m"}]',
    "outgoing_networks": "10.0.0.0/8",
    "probe": "auto",
    "prompts": '{"p": {"instructions": "Be brief."}}',
    "purge_fraction": "1",
    "store": "sqlite://",
    "web_search": "brave",
    "trace_endpoint": "http://127.0.0.1:4318",
    "web_search_url": "https://a/search",
}
"""A value for the variable of each setting that does not accept 7."""


@each("name", Settings.__struct_fields__)
def test_every_setting_is_read_from_the_variable_that_the_page_names(name: str) -> None:
    variable = PREFIX + name.upper()
    assert f"`{variable}`" in PAGE.read_text()
    settings = load_settings({}, {variable: SAMPLES.get(name, "7")}, file=Path("/dev/null"))
    assert getattr(settings, name) != getattr(Settings(), name)


def test_the_files_that_the_page_shows_can_be_loaded(tmp_path: Path) -> None:
    first, models, prompts, servers = (loaded(displayed, tmp_path) for displayed in examples())

    assert [one.url for one in first.backends] == [
        one["url"] for one in tomllib.loads(examples()[0])["backends"]
    ]
    assert first.backends[1].key_env == "GROQ_API_KEY"
    check_backends(models, {})
    assert [model.name for model in models.models] == ["qwen3:8b", "*"]
    (prompt,) = named_prompts(prompts.prompts).values()
    assert variables_of(prompt.template) == ["customer", "language"]
    assert [server.label for server in servers.mcp_servers] == ["tickets", "files"]


if __name__ == "__main__" and "--update" in sys.argv:
    PAGE.write_text(page())
