"""The checks of `antiphon doctor`.

They need no running server, request only the list of models from each backend, and change nothing
except one row of the store, which tests that the store is writable and is never read, as in the
health check of the server.
"""

import asyncio
import os
import platform
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from msgspec import Struct
from rich.filesize import decimal

from antiphon import ids
from antiphon.access.keyring import CIPHERS, read_key
from antiphon.build.backends import backends_of
from antiphon.build.code import sandbox_problem
from antiphon.build.files import check_files
from antiphon.build.images import check_images, images_key
from antiphon.build.models import hidden_models, unknown_models
from antiphon.build.tools import outside_tools_of
from antiphon.build.tracing import tracing_of
from antiphon.cli.error_output import reason_of
from antiphon.cli.launching.server import runs
from antiphon.cli.settings import address
from antiphon.config import Settings
from antiphon.errors import AntiphonError, BackendError, ConfigError, redacted
from antiphon.extras import EXTRAS, USERS, is_installed
from antiphon.http_server.host import WEBSOCKET
from antiphon.jobs.cleaner import MOST_SKEW, differs
from antiphon.jobs.known_agents import KnownAgents
from antiphon.packages import described, problem_with
from antiphon.sharing.compression import ZSTD
from antiphon.storage.open import creates_file, open_store, schema_of
from antiphon.storage.operations import health, lessons
from antiphon.storage.records.lessons import StoredLesson
from antiphon.storage.store import Store
from antiphon.upstream.backend import Backend
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.lessons import LIFE
from antiphon.upstream.registry import ModelRegistry
from antiphon.version import __version__

State = Literal["ok", "note", "problem"]

PATIENCE = 15.0
"""Time limit in seconds for each area."""

LITTLE = 1024 * 1024 * 1024
"""Bytes of free disk space below which the store is about to fail."""

ALWAYS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "WebSocket mode": (WEBSOCKET, ("websockets", "uvicorn")),
    "Encrypted reasoning": (CIPHERS, ("cryptography",)),
    "Compressed requests": (
        ZSTD,
        () if ZSTD.partition(".")[0] in sys.stdlib_module_names else (ZSTD,),
    ),
}
"""Features of every server -> the module that is loaded for them, and its packages."""

OPTIONAL = {"opentelemetry-sdk": "traces", "tiktoken": "exact token counts"}
"""Optional packages, and their purposes."""


class Finding(Struct, frozen=True):
    """The result of one check."""

    area: str
    state: State
    """A `note` needs no action; a `problem` does."""
    text: str
    advice: str = ""
    """What to do; empty if no action is needed."""


def _settings(settings: Settings) -> Finding:
    """Check the values that loading accepts, but a server rejects when it starts."""
    try:
        for key in settings.seal_keys:
            read_key(key)
    except ConfigError as error:
        return Finding("settings", "problem", str(error))
    return Finding("settings", "ok", "The settings are valid.")


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Yield the findings of each check, one after the other.

    No check takes longer than `PATIENCE`.
    """
    yield _settings(settings)
    checks = (
        ("store", _store),
        ("backends", _backends),
        ("images", _images),
        ("port", _port),
        ("sandbox", _sandbox),
        ("packages", _packages),
    )
    for area, check in checks:
        found: list[Finding] = []
        try:
            async with asyncio.timeout(PATIENCE):
                await check(settings, found)
        except AntiphonError as error:
            found.append(Finding(area, "problem", str(error)))
        except TimeoutError:
            text = f"The check timed out after {PATIENCE:g} s."
            found.append(
                Finding(area, "problem", text, "Check the network and the load of the machine.")
            )
        for finding in found:
            yield finding
    for finding in versions():
        yield finding


async def _store(settings: Settings, found: list[Finding]) -> None:
    url = settings.store
    if creates_file(url):
        found.append(
            Finding("store", "note", f"{url} does not exist yet. The first start creates it.")
        )
        _check_disk(url, found)
        return
    schema = await schema_of(url)
    if schema.found > schema.newest:
        text = (
            f"{url} has schema {schema.found}, which is newer than this version of Antiphon "
            f"({schema.newest})."
        )
        found.append(Finding("store", "problem", text, "Upgrade Antiphon."))
        return
    if schema.found < schema.newest:
        text = (
            f"{url} has schema {schema.found}. The next start of a server upgrades it to "
            f"{schema.newest}."
        )
        found.append(Finding("store", "note", text, "Run `antiphon migrate` to do this now."))
        return
    store = await open_store(url, is_written=True)
    try:
        await store.read(health.check)
        await store.check_writable()
        found.append(
            Finding(
                "store", "ok", f"{store.url} can be read and written; its schema is {schema.found}."
            )
        )
        await _check_clock(store, found)
        found += [_learned(one) for one in await store.read(lessons.every, int(time.time()) - LIFE)]
    finally:
        await store.close()
    _check_disk(url, found)


def _learned(one: StoredLesson) -> Finding:
    """Report what a backend's refusals taught."""
    recipient = f" of the tenant '{one.tenant}'" if one.tenant else ""
    stated = f" It said: {one.stated}" if one.stated else ""
    text = (
        f"{redacted(one.place)} refused requests{recipient} for the model '{one.model}': "
        f"{one.name} is adjusted.{stated}"
    )
    return Finding(
        "lessons",
        "note",
        text,
        f"It expires after a day; `antiphon models forget {one.model}` drops it now.",
    )


async def _check_clock(store: Store, found: list[Finding]) -> None:
    skew = await store.clock_skew()
    if skew is None:
        found.append(
            Finding(
                "clock", "ok", "No other server is running, so there is no clock to compare with."
            )
        )
    elif abs(skew) > MOST_SKEW:
        found.append(
            Finding(
                "clock",
                "problem",
                differs(skew),
                "Synchronize the clocks with NTP. No expired data is deleted until then.",
            )
        )
    else:
        found.append(
            Finding(
                "clock", "ok", f"The clock differs from that of the store by {abs(skew):.1f} s."
            )
        )


def _check_disk(url: str, found: list[Finding]) -> None:
    """Check the free space on the disk of an SQLite store, and whether the folder is writable."""
    from antiphon.storage.sqlite.file import path_of  # noqa: PLC0415 - for SQLite only

    path = path_of(url) if url.startswith("sqlite:") else None
    if path is None:
        return
    folder = next(one for one in path.parents if one.exists())
    free = shutil.disk_usage(folder).free
    if free < LITTLE:
        text = f"The disk of {folder} has only {decimal(free)} free."
        found.append(
            Finding("store", "problem", text, "Free some space, or shorten `retention_days`.")
        )
    else:
        found.append(Finding("store", "ok", f"The disk of {folder} has {decimal(free)} free."))
    if not os.access(folder, os.W_OK | os.X_OK):
        text = f"The folder {folder} is not writable."
        found.append(
            Finding("store", "problem", text, "Change its owner or mode, or set another `store`.")
        )


async def _backends(settings: Settings, found: list[Finding]) -> None:
    line = await backends_of(settings, os.environ)
    registry = ModelRegistry(line.backends, ids.now, line.dialects, line.shares, settings.fallback)
    try:
        await asyncio.gather(*(_list_models(registry, one, found) for one in line.backends))
    finally:
        for backend in line.backends:
            await backend.close()
    if not settings.backends and not any(one.url for one in line.backends):
        text = "No model server was found, so requests go to the scripted model `demo`."
        found.append(
            Finding("backends", "note", text, "Start a model server, or name one in [[backends]].")
        )
    advice = "Correct the setting, or add the model to a backend."
    found += [
        Finding("backends", "problem", sentence, advice)
        for sentence in unknown_models(settings, registry)
    ]
    found += [
        Finding("backends", "problem", sentence)
        for sentence in hidden_models(await _agents(settings), registry)
    ]


async def _agents(settings: Settings) -> Collection[str]:
    """Return the agents of the settings, and of running workers if the store can be read."""
    agents = KnownAgents(settings.agents)
    with suppress(AntiphonError):  # the check of the store reports it
        schema = None if creates_file(settings.store) else await schema_of(settings.store)
        if schema is not None and schema.found == schema.newest:
            store = await open_store(settings.store)
            try:
                await agents.refresh(store)
            finally:
                await store.close()
    return agents.names


async def _list_models(registry: ModelRegistry, backend: Backend, found: list[Finding]) -> None:
    """Request the list of models of a backend, which no backend charges for."""
    state = next(one for one in registry.backends if one.backend is backend)
    try:
        listing = await backend.list_models()
    except BackendError as error:
        found.append(Finding("backends", "problem", str(error)))
        return
    state.error = state.public_error = ""
    state.update(models=[one for one in listing.models if isinstance(one.get("id"), str)])
    models = len(state.offers())
    key = f", with the key in {state.options.key_env}" if state.options.key_env else ""
    text = f"{state.identity.full} lists {models} model{'' if models == 1 else 's'}{key}."
    advice = "" if models else "Load or pull a model on this backend."
    found.append(Finding("backends", "ok" if models else "problem", text, advice))


async def _port(settings: Settings, found: list[Finding]) -> None:
    place = f"{settings.host}:{settings.port}"
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        with socket.create_server((settings.host, settings.port), family=family):
            found.append(Finding("port", "ok", f"{place} is free."))
    except OSError as error:
        if await asyncio.to_thread(runs, f"{address(settings)}/v1"):
            found.append(Finding("port", "ok", f"An Antiphon is running at {place}."))
            return
        advice = "Stop the program that listens there, or set another `port`."
        found.append(
            Finding("port", "problem", f"{place} cannot be used: {reason_of(error)}.", advice)
        )


async def _images(settings: Settings, found: list[Finding]) -> None:
    """Check whether the image server responds.

    Its list of models is free of charge, and may not exist.
    """
    check_images(settings)
    if not settings.images_backend:
        return
    server = HttpBackend("images", settings.images_backend, images_key(settings, os.environ))
    server_name = f"The image server ({settings.images_backend})"
    try:
        reply = await server.get("/models")
        await reply.close()
    except BackendError as error:
        found.append(Finding("images", "problem", str(error)))
        return
    finally:
        await server.close()
    if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        text = f"{server_name} rejects the request with status {reply.status}."
        found.append(
            Finding(
                "images", "problem", text, "Set `images_key_env` to a variable with a valid key."
            )
        )
    else:
        found.append(Finding("images", "ok", f"{server_name} responds."))


async def _sandbox(settings: Settings, found: list[Finding]) -> None:
    name = settings.code_sandbox
    if not name:
        found.append(_installed())
    elif problem := await sandbox_problem(settings, os.environ):
        found.append(
            Finding("sandbox", "problem", f"The sandbox '{name}' does not work: {problem}")
        )
    else:
        found.append(
            Finding("sandbox", "ok", f"The sandbox '{name}' works: it started and ran code.")
        )


def _installed() -> Finding:
    path = shutil.which("bwrap")
    if path is None:
        return Finding(
            "sandbox",
            "note",
            "bubblewrap (bwrap) is not installed. Only the setting `code_sandbox` needs it.",
        )
    return Finding("sandbox", "ok", f"bubblewrap is installed: {path}. `code_sandbox` is not set.")


async def _packages(settings: Settings, found: list[Finding]) -> None:
    """Load what the settings need, as a server does, and what the installed packages offer to
    requests.
    """
    needed = (
        check_files,
        partial(tracing_of, environment=os.environ),
        partial(outside_tools_of, environment=os.environ),
    )
    for need in needed:
        try:
            need(settings)
        except ConfigError as error:
            found.append(Finding("packages", "problem", str(error)))
    loaded: list[str] = []
    for feature, modules, packages in _features(settings):
        problem = next(filter(None, map(problem_with, modules)), "")
        if not problem:
            loaded += map(described, packages)
        elif not any(problem in one.text for one in found):
            found.append(Finding("packages", "problem", f"{feature} is not available. {problem}"))
    if loaded:
        found.append(
            Finding(
                "packages",
                "ok",
                f"These packages can be loaded: {', '.join(dict.fromkeys(loaded))}.",
            )
        )


def _features(settings: Settings) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """Yield each feature of a server with these settings, the modules to load for it, and its
    packages.
    """
    for feature, (module, packages) in ALWAYS.items():
        if module != WEBSOCKET or settings.websocket:
            yield feature, (module,), packages
    for extra, packages in EXTRAS.items():
        if is_installed(extra):
            yield f"The extra '{extra}'", USERS[extra], packages


def versions() -> list[Finding]:
    """Return the versions, and the missing optional packages."""
    python = (
        f"Antiphon {__version__}, Python {platform.python_version()}, SQLite "
        f"{sqlite3.sqlite_version}."
    )
    found = [Finding("versions", "ok", python)]
    for package, purpose in OPTIONAL.items():
        try:
            found.append(
                Finding(
                    "versions", "ok", f"{package} {version(package)} is installed, for {purpose}."
                )
            )
        except PackageNotFoundError:
            found.append(
                Finding(
                    "versions",
                    "note",
                    f"{package} is not installed. It is needed for {purpose} only.",
                )
            )
    return found
