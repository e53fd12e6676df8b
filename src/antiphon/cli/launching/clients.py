"""The clients that `antiphon launch` starts, and the profile that configures each of them for a
server.

A profile is arguments, variables and files in a temporary folder. It never changes the user's own
configuration, and adds to that where the client allows it. Everything here was tested with the
versions that `tests/system/clients` pins.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PROVIDER = "antiphon"
"""The name of the server in the profiles of clients."""

NO_KEY = "none"
"""Sent as the key to a server that requires none: clients refuse to start without one."""

LONGEST_ANSWER = 32_000
"""Maximum output tokens; opencode and pi reserve this part of the context window."""

SHARE_OF_ANSWER = 4
"""Divisor of the context window: the output can use at most this fraction of it."""


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The facts from which a profile is made."""

    url: str
    """Base URL of the server, ending in `/v1`."""
    model: str
    """The model that the client begins with, by the name that the server lists."""
    catalog: Sequence[Mapping[str, Any]]
    """Every model that the server lists, as entries of Codex's catalog; empty if the server lists
    none.
    """
    folder: str
    """The temporary folder with the files of the profile."""
    key_env: str = ""
    """The variable that holds the API key; empty if the server requires none."""
    key: str = field(default=NO_KEY, repr=False)
    """The API key."""
    no_proxy: str = ""
    """The hosts that the user reaches without a proxy, separated by commas."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Arguments, variables and files for a client, in addition to its own configuration."""

    arguments: tuple[str, ...] = ()
    """They precede the user's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Content by path, relative to the temporary folder."""


@dataclass(frozen=True, slots=True)
class LaunchClient:
    """A client: its command, the npm package that has it, and its profile."""

    command: str
    package: str
    profile: Callable[[LaunchFacts], Profile]
    extra: str = ""
    """The extra that a server needs for its requests."""


def _codex(facts: LaunchFacts) -> Profile:
    """`-c` overrides config.toml for one run.

    The model catalog can only be a file, or an address that has a key.
    """
    provider = {"name": "Antiphon", "base_url": facts.url, "wire_api": "responses"}
    if facts.key_env:
        provider["env_key"] = facts.key_env
    settings = {
        "model": _toml(facts.model),
        "model_provider": _toml(PROVIDER),
        f"model_providers.{PROVIDER}": f"{{{', '.join(f'{name} = {_toml(provider[name])}' for name in provider)}}}",  # noqa: E501 - one text, or a row of a table
    }
    files = {}
    if facts.catalog:
        settings["model_catalog_json"] = _toml(f"{facts.folder}/models.json")
        files["models.json"] = json.dumps({"models": facts.catalog})
    arguments = tuple(
        part for name, value in settings.items() for part in ("-c", f"{name}={value}")
    )
    return Profile(arguments, files=files)


def _opencode(facts: LaunchFacts) -> Profile:
    """Merges this variable over the configuration of the user and of the project."""
    models = {
        name: {
            "name": name,
            "tool_call": True,
            "reasoning": True,
            "attachment": "image" in inputs,
            "modalities": {"input": inputs, "output": ["text"]},
            **({"limit": {"context": window, "output": _longest_answer(window)}} if window else {}),
        }
        for name, window, inputs in _models(facts)
    }
    options = {
        "baseURL": facts.url,
        "apiKey": f"{{env:{facts.key_env}}}" if facts.key_env else NO_KEY,
    }
    chosen = f"{PROVIDER}/{facts.model}"
    provider = {"npm": "@ai-sdk/openai", "name": "Antiphon", "options": options, "models": models}
    configuration = {"model": chosen, "small_model": chosen, "provider": {PROVIDER: provider}}
    return Profile(environment={"OPENCODE_CONFIG_CONTENT": json.dumps(configuration)})


def _pi(facts: LaunchFacts) -> Profile:
    """An extension registers the provider in addition to those in the user's models.json."""
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    models = [
        {
            "id": name,
            "name": name,
            "reasoning": True,
            "input": inputs,
            "cost": free,
            "contextWindow": window or PI_WINDOW,
            "maxTokens": _longest_answer(window or PI_WINDOW),
        }
        for name, window, inputs in _models(facts)
    ]
    # pi reads the key from the variable that `apiKey` names.
    provider = {
        "baseUrl": facts.url,
        "apiKey": facts.key_env or NO_KEY,
        "api": "openai-responses",
        "models": models,
    }
    code = (
        f"export default (pi) => pi.registerProvider({json.dumps(PROVIDER)}, "
        f"{json.dumps(provider)});\n"
    )
    arguments = (
        "--extension",
        f"{facts.folder}/antiphon.js",
        "--provider",
        PROVIDER,
        "--model",
        facts.model,
    )
    return Profile(arguments, files={"antiphon.js": code})


PI_WINDOW = 128_000
"""Tokens that pi assumes for a window that its models.json does not state; extensions must state
one.
"""


def _cline(facts: LaunchFacts) -> Profile:
    """Cline's provider for OpenAI, in separate state: the user's state cannot be extended for one
    run.
    """
    provider = "openai-native"
    settings = {"provider": provider, "model": facts.model, "baseUrl": facts.url}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    known = {
        "version": 1,
        "lastUsedProvider": provider,
        "modes": {},
        "providers": {provider: entry},
    }
    return Profile(
        ("--data-dir", f"{facts.folder}/cline", "--provider", provider, "--model", facts.model),
        {"OPENAI_API_KEY": facts.key},
        {"cline/settings/providers.json": json.dumps(known)},
    )


def _claude(facts: LaunchFacts) -> Profile:
    """A file of settings takes precedence over those of the user and of the project, variables in
    it too.

    Every name that Claude Code requests is the model's, also that for work in the background. It
    assumes a window of a million tokens for a model that it does not know, and uses a proxy even
    for an address of this machine.
    """
    window = next((window for name, window, _ in _models(facts) if name == facts.model), None)
    sizes = (
        {
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(window),
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(_longest_answer(window)),
        }
        if window
        else {}
    )
    variables = {
        "ANTHROPIC_BASE_URL": facts.url.removesuffix("/v1"),
        **dict.fromkeys(CLAUDE_MODELS, facts.model),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_PROXY": ",".join(filter(None, (facts.no_proxy, _host(facts.url)))),
        **sizes,
    }
    arguments = ("--settings", f"{facts.folder}/claude.json", "--model", facts.model)
    keys = {"ANTHROPIC_AUTH_TOKEN": facts.key, "ANTHROPIC_API_KEY": ""}
    return Profile(arguments, keys, {"claude.json": json.dumps({"env": variables})})


CLAUDE_MODELS = (
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
)
"""The variables with the models that Claude Code uses."""


CLIENTS: Mapping[str, LaunchClient] = {
    "codex": LaunchClient(
        "codex", "@openai/codex", _codex, extra="grammar"
    ),  # its tool for patches has a grammar
    "opencode": LaunchClient("opencode", "opencode-ai", _opencode),
    "pi": LaunchClient("pi", "@mariozechner/pi-coding-agent", _pi),
    "cline": LaunchClient("cline", "cline", _cline),
    "claude": LaunchClient("claude", "@anthropic-ai/claude-code", _claude),
}
"""The clients by the names that `antiphon launch` accepts."""


def _models(facts: LaunchFacts) -> list[tuple[str, int | None, list[str]]]:
    """Return each model's name, context window and kinds of input; of a server that lists none, the
    chosen one's.
    """
    known = [
        (one["slug"], one.get("context_window"), list(one["input_modalities"]))
        for one in facts.catalog
    ]
    return known or [(facts.model, None, ["text"])]


def _longest_answer(window: int) -> int:
    return min(LONGEST_ANSWER, window // SHARE_OF_ANSWER)


def _host(url: str) -> str:
    """Return the host of a URL, without port."""
    return url.partition("://")[2].partition("/")[0].rpartition(":")[0].strip("[]")


def _toml(text: str) -> str:
    """Return a TOML string: one of JSON without escapes of surrogates, which TOML does not have."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
