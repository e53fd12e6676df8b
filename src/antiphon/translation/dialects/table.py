"""How Chat Completions backends differ: a table with a row for each family and its evidence."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from antiphon.errors import ConfigError
from antiphon.translation.dialects.dialect import OPENAI_ONLY, USUAL, Dialect
from antiphon.translation.dialects.model_servers import MODEL_SERVERS
from antiphon.translation.dialects.services import SERVICES

MESSAGES = "messages"
"""The family of all servers of Anthropic's Messages API."""

CLAUDE = "anthropic"
"""The family of Claude behind a Chat Completions API."""

GENERIC = "generic"
"""The family of unknown servers."""

_ROWS = (
    *MODEL_SERVERS,
    *SERVICES,
    Dialect(
        # Our own scripted model. It reads no files, so that it shows what most models
        # receive: the text.
        "demo",
        system_messages="several",
        accepts=USUAL | OPENAI_ONLY,
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="always",
        tool_choice="full",
        strict=True,
        owners=("antiphon",),
    ),
    Dialect(
        # An unknown server: what most accept, reasoning back only if a tool loop can depend on it
        # (lesson L33); whatever it rejects is learned. It can be any local model server
        # (mlx-lm#1374, omlx#2565), so calls can arrive as text. A server of one's own with a
        # Responses API is meant to be used by that API.
        GENERIC,
        api="probe",
        checks_answers=True,
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        text_calls=True,
        strict=True,
    ),
)

DIALECTS: Mapping[str, Dialect] = {row.name: row for row in _ROWS}
"""Every family by the name that the configuration uses."""


def find_dialect(url: str, owned_by: set[str], server: str, configured: str | None) -> Dialect:
    """Return a backend's family: from the configuration, its host, its `server` header, its models' owner, or its port.

    `url` is the base URL, empty for a backend inside this process; `owned_by` are the values of that field in its list
    of models; `server` is the header as received. Raises `ConfigError` if `configured` is not a family.

    >>> from antiphon.translation import find_dialect
    >>> find_dialect("http://127.0.0.1:11434/v1", owned_by=set(), server="", configured=None).name
    'ollama'
    """  # noqa: E501 - a table, a diagram or an example
    if configured is not None:
        return _configured(configured)
    if not url:
        return DIALECTS["demo"]
    parts = urlsplit(url)
    signs: tuple[Callable[[Dialect], bool], ...] = (
        lambda row: _is_host(parts.hostname or "", row.hosts),
        lambda row: server.lower().startswith(row.servers),
        lambda row: not owned_by.isdisjoint(row.owners),
        lambda row: parts.port in row.ports,
    )
    return next((row for sign in signs for row in _ROWS if sign(row)), DIALECTS[GENERIC])


def _configured(name: str) -> Dialect:
    if name not in DIALECTS:
        raise ConfigError(f"Unknown dialect '{name}'. Dialects are: {', '.join(sorted(DIALECTS))}.")
    return DIALECTS[name]


def _is_host(host: str, names: tuple[str, ...]) -> bool:
    return any(host == name or (name.startswith(".") and host.endswith(name)) for name in names)
