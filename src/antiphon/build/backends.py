"""Builds the backends of the settings; without any, those found on this machine, or the demo."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from antiphon.build.models import check_models, check_references, options_of
from antiphon.config import BackendConfig, Settings, check_url, clean_key, key_of
from antiphon.errors import ConfigError, redacted
from antiphon.extras import require
from antiphon.translation.dialects.table import find_dialect
from antiphon.translation.to_chat_completions.request import RESERVED
from antiphon.upstream.backend import Backend
from antiphon.upstream.discover import discover, named_by_environment
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.http1.connect import TlsFiles
from antiphon.upstream.options import BackendOptions

FROM_ENVIRONMENT = "openai"
"""Name of the backend that `OPENAI_BASE_URL` and `OPENAI_API_KEY` name."""

SECONDS = re.compile(r"-?\d{1,9}")
DURATION = re.compile(r"-?(?:\d{1,9}(?:\.\d{1,9})?(?:ns|us|ms|s|m|h))+")
"""A duration in Go's notation."""


@dataclass(slots=True)
class BackendSet:
    """The backends of the settings, and the options of each by its name."""

    backends: list[Backend] = field(default_factory=list)
    dialects: dict[str, str] = field(default_factory=dict)
    shares: dict[str, BackendOptions] = field(default_factory=dict)


async def backends_of(
    settings: Settings,
    environment: Mapping[str, str],
    before: Sequence[Backend] = (),
    own: Sequence[Backend] = (),
) -> BackendSet:
    """Return the backends of the settings; unchanged backends of `before` are reused.

    If the settings name none, they are the program's `own`, or, without any, those found on this
    machine.
    """
    if settings.backends:
        return _configured(settings, environment, before)
    found = list(own) or await _found(settings, environment)
    names = [backend.name for backend in found]
    check_models(
        [one for one in settings.models if not one.backend], names
    )  # a backend may not be running yet
    options = BackendOptions(
        api="auto", loop_calls=settings.loop_calls, loop_text=settings.loop_text
    )
    shares = {
        name: replace(
            options,
            key_env=_found_key_env(name, environment),
            configured=options_of(settings.models, name),
        )
        for name in names
    }
    return BackendSet(found, shares=shares)


def check_backends(settings: Settings, environment: Mapping[str, str] | None = None) -> None:
    """Raise `ConfigError` if a configured backend cannot be used."""
    _configured(settings, os.environ if environment is None else environment)


def _configured(
    settings: Settings, environment: Mapping[str, str], before: Sequence[Backend] = ()
) -> BackendSet:
    line = BackendSet()
    for number, configured in enumerate(settings.backends, 1):
        name = _free_name(configured.name or urlsplit(configured.url).netloc, line.backends)
        share = _share(settings, configured, number)
        key = key_of(configured, environment)
        created = _http(settings, environment, name, configured.url, key, configured, share.label)
        line.backends.append(next((one for one in before if created.is_like(one)), created))
        aliases = {**_described_at(settings.vision, name), **share.aliases}
        line.shares[name] = replace(
            share, aliases=aliases, configured=options_of(settings.models, name)
        )
        if configured.dialect:
            find_dialect("", set(), "", configured.dialect)  # an unknown dialect is rejected
            line.dialects[name] = configured.dialect
    check_models(settings.models, line.shares)
    check_references(settings)
    return line


def _share(settings: Settings, configured: BackendConfig, number: int) -> BackendOptions:
    """Return the options of a backend.

    An unnamed backend is named by its number: clients learn no address.

    Raises `ConfigError` for an option that needs a package that is not installed.
    """
    if configured.check_answers:
        require("correct", f"The setting check_answers of the backend {redacted(configured.url)}")
    names = ["*"] if configured.models == "*" else configured.models
    return BackendOptions(
        frozenset(names),
        configured.aliases,
        configured.weight,
        configured.concurrency,
        configured.queue,
        configured.tenant_concurrency,
        configured.name or f"backend-{number}",
        configured.key_env,
        api=configured.api,
        num_ctx=configured.num_ctx,
        keep_alive=_keep_alive(configured),
        cache=configured.cache,
        cache_salt=configured.cache_salt,
        passthrough=_passthrough(configured),
        check_answers=configured.check_answers,
        plain_retry=configured.plain_retry,
        loop_calls=settings.loop_calls,
        loop_text=settings.loop_text,
    )


def _keep_alive(configured: BackendConfig) -> str | int | None:
    """Return the time in Ollama's form: a duration such as `30m`, or a number of seconds.

    Raises `ConfigError` for anything else.
    """
    value = configured.keep_alive.strip()
    if SECONDS.fullmatch(value):
        return int(value)
    if value and not DURATION.fullmatch(value):
        raise ConfigError(
            f"The backend {configured.url} has '{value}' as `keep_alive`. Write a duration such "
            "as `30m` or `1h30m`, a number of seconds, or `-1` to keep models in memory."
        )
    return value or None


def _described_at(vision: str, backend: str) -> dict[str, str]:
    """Return the alias that `vision = "backend/model"` makes at the backend of this name."""
    place, _, model = vision.partition("/")
    return {vision: model} if place == backend and model else {}


def _passthrough(configured: BackendConfig) -> frozenset[str] | None:
    """Return the parameters to forward.

    Raises `ConfigError` for one of the API, or one that the translation sets.
    """
    if configured.passthrough is None:
        return None
    names = frozenset(configured.passthrough)
    if taken := sorted(names & RESERVED):
        raise ConfigError(
            f"The backend {configured.url} has '{taken[0]}' in `passthrough`, which Antiphon sets "
            "itself. Remove it."
        )
    return names


async def _found(settings: Settings, environment: Mapping[str, str]) -> list[Backend]:
    """Nothing was configured: look for local backends, and serve the demo if none is found."""
    backends: list[Backend] = []
    named = named_by_environment(environment)
    if named is not None and not _is_this_server(named[0], settings):
        check_url(named[0])
        key = clean_key(environment, "OPENAI_API_KEY")
        configured = BackendConfig(
            url=named[0], key_env=_found_key_env(FROM_ENVIRONMENT, environment)
        )
        backends.append(_http(settings, environment, FROM_ENVIRONMENT, named[0], key, configured))
    backends += [
        _http(settings, environment, name, url, "", BackendConfig(url=url))
        for name, url in await discover()
        if not _is_this_server(url, settings)
    ]
    return backends or [demo_backend()]


def demo_backend() -> Backend:
    """Return the scripted model `demo`."""
    from antiphon.upstream.demo.backend import DemoBackend  # noqa: PLC0415 - only servers without a backend need it

    return DemoBackend()


def _found_key_env(name: str, environment: Mapping[str, str]) -> str:
    """Return the variable with the key of a backend that was not configured; empty if it has
    none.
    """
    return (
        "OPENAI_API_KEY" if name == FROM_ENVIRONMENT and environment.get("OPENAI_API_KEY") else ""
    )


def _http(
    settings: Settings,
    environment: Mapping[str, str],
    name: str,
    url: str,
    key: str,
    configured: BackendConfig,
    label: str = "",
) -> HttpBackend:
    timeouts = {
        limit: getattr(configured, limit) or getattr(settings, limit)
        for limit in ("connect_timeout", "first_byte_timeout", "idle_timeout")
    }
    files = (configured.ca_file, configured.client_cert, configured.client_key)
    tls = TlsFiles(*(str(Path(file).expanduser()) if file else "" for file in files))
    return HttpBackend(
        name,
        url,
        key,
        tls=tls,
        proxy=configured.proxy,
        environment=environment,
        label=label,
        key_env=configured.key_env,
        speaks_messages=_speaks_messages(url, configured),
        **timeouts,
    )


def _speaks_messages(url: str, configured: BackendConfig) -> bool:
    """Whether a backend is called by Anthropic's Messages API."""
    if configured.api != "auto":
        return configured.api == "messages"
    return find_dialect(url, set(), "", configured.dialect or None).api == "messages"


def _free_name(name: str, backends: Sequence[Backend]) -> str:
    taken = {backend.name for backend in backends}
    if name not in taken:
        return name
    return next(
        free for number in range(2, len(taken) + 3) if (free := f"{name}-{number}") not in taken
    )


def _is_this_server(url: str, settings: Settings) -> bool:
    """Whether `OPENAI_BASE_URL` points here: clients on this machine may use the same variable."""
    parts = urlsplit(url)
    return parts.port == settings.port and parts.hostname in {
        "127.0.0.1",
        "localhost",
        "::1",
        settings.host,
    }
