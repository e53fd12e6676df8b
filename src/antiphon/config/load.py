"""Gathers the settings from flags, environment and file, and says where a wrong one was set."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from antiphon.config.checks import check
from antiphon.config.models import ModelConfig
from antiphon.config.settings import BackendConfig, McpServerConfig, Settings
from antiphon.errors import ConfigError, log

DEFAULT_FILE = "antiphon.toml"
PREFIX = "ANTIPHON_"
OTHER_VARIABLES = {"ANTIPHON_CONFIG", "ANTIPHON_RECORDINGS"}
"""Variables that are no settings: the file of settings, and where the tests find recordings."""

_IN_TABLE = re.compile(r"(backends|mcp_servers|models)\[(\d+)\]\.?(.*)")
_UNKNOWN = re.compile("Object contains unknown field `(.*)`", re.DOTALL)

_EXPECTED = re.compile(r"Expected `(\w+)(?: \| null)?`")
_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
"""How msgspec names a type, and what people call it."""

_TABLES: dict[str, tuple[type[Struct], str, str]] = {
    "backends": (BackendConfig, "backend", "name"),
    "mcp_servers": (McpServerConfig, "MCP server", "label"),
    "models": (ModelConfig, "model", "name"),
}
"""What the tables of a setting are, what one is called, and by which of its keys."""


def load_settings(
    flags: Mapping[str, Any], environment: Mapping[str, str] | None = None, file: Path | None = None
) -> Settings:
    """Return the settings. Raises `ConfigError` that names the setting and where it was set.

    `flags` holds what the command line gave, `backends` as base URLs; None stands for a flag that was not given.
    """
    environment = os.environ if environment is None else environment
    path = settings_file(file, environment)
    told = _from_environment(environment)
    given = {name: value for name, value in flags.items() if value is not None}
    values = (_from_file(path) if path else {}) | told | given
    if isinstance(values.get("backends"), list):
        values["backends"] = [{"url": one} if isinstance(one, str) else one for one in values["backends"]]
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        mistake = _mistake(str(error), values)
        source = _source(mistake.setting, path, told, given)
        raise ConfigError(f"{source}: {mistake.text}") from error
    check(settings)
    return settings


def settings_file(file: Path | None = None, environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the file of settings: `file`, else what the variable names, else the usual one where there is one."""
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
    values: dict[str, Any] = {known[name]: value for name, value in environment.items() if name in known and value}
    for name in environment:
        if name.startswith(PREFIX) and name not in known.keys() | OTHER_VARIABLES:
            log.warning("The variable %s is no setting and changes nothing.", name)
    for name in ("backends", "seal_keys", "allowed_hosts", "allowed_origins", "outgoing_networks"):
        if name in values:
            values[name] = values[name].replace(",", " ").split()
    if "mcp_servers" in values:
        pairs = (pair.partition("=") for pair in values["mcp_servers"].split())
        values["mcp_servers"] = [{"label": label, "url": url} for label, _, url in pairs]
    if "models" in values:
        values["models"] = _tables(values["models"], "MODELS")
    if "fallback" in values:
        values["fallback"] = _chains(values["fallback"])
    return values


def _tables(text: str, name: str) -> Any:
    """Return what a variable holds as JSON: a list of tables."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ConfigError(f"The variable {PREFIX}{name} is wrong: it is not valid JSON: {error}.") from error


def _chains(text: str) -> dict[str, list[str]]:
    """Return what `a=b,c d=e` says: the models that may answer in another's place."""
    pairs = (pair.partition("=") for pair in text.split())
    return {name: [other for other in others.split(",") if other] for name, _, others in pairs}


class _Mistake(NamedTuple):
    setting: str
    """Name of the setting, empty where there is no such setting."""
    text: str


def _mistake(said: str, values: dict[str, Any]) -> _Mistake:
    """Return what msgspec says of these values, with what would be right where that is known."""
    what, _, place = said.partition(" - at `$.")
    place = place.removesuffix("`")
    setting = re.split(r"[.\[]", place)[0]
    kind: type[Struct] = Settings
    whose = ""
    if in_table := _IN_TABLE.fullmatch(place):
        tables, number, place = in_table[1], int(in_table[2]), in_table[3]
        kind, what_it_is, key = _TABLES[tables]
        whose = _named(number, values[tables][number], what_it_is, key)
    if must := _requirement(what, place, kind):
        return _Mistake(setting, f"{whose}`{place}` must be {must}.")
    at = f" at `{place}`" if place else ""
    return _Mistake(setting, f"{whose}{what}{at}.{_advice(what, place, kind)}")


def _requirement(what: str, place: str, kind: type[Struct]) -> str:
    """Return what a value of a simple type must be; empty for other mistakes."""
    wanted = _EXPECTED.match(what)
    if wanted is None or wanted[1] not in _KINDS or place not in kind.__struct_fields__:
        return ""
    hint = get_type_hints(kind, include_extras=True)[place]
    notes = [note for part in (hint, *get_args(hint)) for note in get_args(part)]
    return ", ".join([_KINDS[wanted[1]], *(_bounds(note) for note in notes if isinstance(note, msgspec.Meta))])


def _bounds(meta: msgspec.Meta) -> str:
    limits = (("at least", meta.ge), ("above", meta.gt), ("at most", meta.le))
    return " and ".join(f"{word} {limit}" for word, limit in limits if limit is not None)


def _named(number: int, table: object, what: str, key: str) -> str:
    name = table.get(key) if isinstance(table, dict) else None
    return f"{what} {number + 1} ('{name}'): " if name else f"{what} {number + 1}: "


def _advice(what: str, place: str, kind: type[Struct]) -> str:
    if unknown := _UNKNOWN.fullmatch(what):
        from difflib import get_close_matches  # noqa: PLC0415 - for mistakes alone

        near = get_close_matches(unknown[1], kind.__struct_fields__, 1)
        return f" Did you mean `{near[0]}`?" if near else ""
    wanted = get_type_hints(kind).get(place)
    choices = next((one for one in (wanted, *get_args(wanted)) if get_origin(one) is Literal), None)
    return f" Allowed: {', '.join(one or repr(one) for one in get_args(choices))}." if choices else ""


def _source(setting: str, file: Path | None, told: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    if setting in given:
        return "A flag is wrong"
    return f"The variable {PREFIX}{setting.upper()} is wrong" if setting in told else f"The file {file} is wrong"
