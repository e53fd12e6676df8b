"""Loads the settings from flags, environment and file, and reports which of them has an invalid
value.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from antiphon.config.checks import check
from antiphon.config.settings import Settings
from antiphon.errors import ConfigError, closest_name, log

DEFAULT_FILE = "antiphon.toml"
PREFIX = "ANTIPHON_"
OTHER_VARIABLES = {"ANTIPHON_CONFIG", "ANTIPHON_RECORDINGS"}
"""Variables that are not settings: the settings file, and the folder of the recordings for the
tests.
"""


def load_settings(
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """Return the settings as `antiphon serve` reads them. Raises `ConfigError`, which names the setting and its source.

    `flags` are those of the command line, with `backends` as base URLs; None means that a flag is absent. The default
    of `environment` is that of the process, the default of `file` is `antiphon.toml` in the working directory if it
    exists.

    >>> from antiphon import load_settings
    >>> load_settings(environment={"ANTIPHON_STORE": "sqlite://"}).store
    'sqlite://'
    """  # noqa: E501 - a table, a diagram or an example
    environment = os.environ if environment is None else environment
    path = settings_file(file, environment)
    reported = _from_environment(environment)
    provided = {name: value for name, value in (flags or {}).items() if value is not None}
    values = (_from_file(path) if path else {}) | reported | provided
    if isinstance(values.get("backends"), list):
        values["backends"] = [
            {"url": one} if isinstance(one, str) else one for one in values["backends"]
        ]
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _wrong(str(error), values, path, reported, provided) from error
    check(settings)
    return settings


def checked(settings: Settings) -> Settings:
    """Return the settings of a program after the same checks as those of a file.

    Raises `ConfigError`.
    """
    values: dict[str, Any] = msgspec.to_builtins(settings)
    try:
        converted = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        from antiphon.config.mistakes import mistake  # noqa: PLC0415 - needed for mistakes only

        found = mistake(str(error), values, is_file=False)
        raise ConfigError(f"The settings of the program are not valid: {found.text}") from error
    check(converted)
    return converted


def settings_file(
    file: Path | None = None, environment: Mapping[str, str] | None = None
) -> Path | None:
    """Return the settings file: `file`, else the file that the variable names, else `antiphon.toml`
    if it exists.
    """
    environment = os.environ if environment is None else environment
    if file or environment.get(PREFIX + "CONFIG"):
        return file or Path(environment[PREFIX + "CONFIG"])
    usual = Path(DEFAULT_FILE)
    return usual if usual.exists() else None


def _from_file(path: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - many servers have no file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The file {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"The file {path} is not valid TOML: {error}.") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = {PREFIX + name.upper(): name for name in Settings.__struct_fields__}
    values: dict[str, Any] = {
        known[name]: value for name, value in environment.items() if name in known and value
    }
    for name in environment:
        if name.startswith(PREFIX) and name not in known.keys() | OTHER_VARIABLES:
            near = closest_name(name, known)
            log.warning(
                "Unknown setting %s is ignored.%s", name, f" Did you mean {near}?" if near else ""
            )
    for name in (
        "backends",
        "agents",
        "seal_keys",
        "allowed_hosts",
        "allowed_origins",
        "outgoing_networks",
        "metrics_networks",
    ):
        if name in values:
            values[name] = values[name].replace(",", " ").split()
    if "mcp_servers" in values:
        pairs = (pair.partition("=") for pair in values["mcp_servers"].split())
        values["mcp_servers"] = [{"label": label, "url": url} for label, _, url in pairs]
    if "models" in values:
        values["models"] = _tables(values["models"], "MODELS")
    if "prompts" in values:
        values["prompts"] = _tables(values["prompts"], "PROMPTS")
    if "fallback" in values:
        values["fallback"] = _chains(values["fallback"])
    for name in ("search_chunk_tokens", "messages_models"):
        if name in values:
            pairs = (pair.rpartition("=") for pair in values[name].split())
            values[name] = {key: value for key, _, value in pairs}
    return values


EXAMPLES = {
    "MODELS": """a list of objects, such as [{"name": "qwen3", "context_window": 32768}]""",
    "PROMPTS": """an object of objects, such as {"support": {"instructions": "You help {{customer}}."}}""",  # noqa: E501 - one text, or a row of a table
}
"""An example for each variable that holds JSON."""


def _tables(text: str, name: str) -> Any:
    """Return the JSON in a variable: tables, in a list or by their names."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        text = (
            f"The variable {PREFIX}{name} is wrong: it is not valid JSON. Write {EXAMPLES[name]}."
        )
        raise ConfigError(text) from error


def _chains(text: str) -> dict[str, list[str]]:
    """Return the fallback models of each model in a text such as `a=b,c d=e`."""
    pairs = (pair.partition("=") for pair in text.split())
    return {name: [other for other in others.split(",") if other] for name, _, others in pairs}


def _wrong(
    text: str,
    values: dict[str, Any],
    path: Path | None,
    reported: Mapping[str, Any],
    provided: Mapping[str, Any],
) -> ConfigError:
    """Return the error for invalid values."""
    from antiphon.config.mistakes import mistake  # noqa: PLC0415 - needed for mistakes only

    found = mistake(text, values, is_file=False)
    is_file = found.setting not in reported.keys() | provided.keys()
    source = _source(found.setting, path, reported, provided)
    return ConfigError(f"{source}: {mistake(text, values, is_file=is_file).text}")


def _source(
    setting: str, file: Path | None, reported: Mapping[str, Any], provided: Mapping[str, Any]
) -> str:
    if setting in provided:
        return f"The flag --{setting} is wrong"
    return (
        f"The variable {PREFIX}{setting.upper()} is wrong"
        if setting in reported
        else f"The file {file} is wrong"
    )
