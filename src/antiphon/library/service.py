"""The parts of a server inside another program: created at first use in one event loop, and closed
there.
"""

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from antiphon.build import Application, build, demo_backend
from antiphon.config import BackendConfig, Settings, checked
from antiphon.errors import ConfigError
from antiphon.upstream.backend import Backend

if TYPE_CHECKING:
    from antiphon.agents.execution import AgentWorker
    from antiphon.agents.registration import Agent

MEMORY = "sqlite://"
"""The default store of a program."""

KEY = "ANTIPHON_BACKEND_KEY"
"""The name of the variable for a key that the program passes itself."""

LISTENING = ("host", "port", "workers", "grace")
LOGGING = ("log_level", "log_format", "access_log")
CONNECTIONS = (
    "websocket",
    "allowed_hosts",
    "allowed_origins",
    "max_connections",
    "max_connection_bytes",
    "console",
)

REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        LISTENING, "the program that embeds Antiphon opens its own port and decides when it stops"
    ),
    **dict.fromkeys(
        LOGGING, "the program configures the loggers `antiphon` and `antiphon.access` itself"
    ),
    **dict.fromkeys(CONNECTIONS, "calls inside a program have no connections; use `antiphon.asgi`"),
}
"""Why a setting of the server has no effect in a program."""

IN_CALLS = (*LISTENING, *LOGGING, *CONNECTIONS)
"""Settings that clients inside a program reject."""

IN_APPLICATIONS = (*LISTENING, *LOGGING)
"""Settings that an application for another server rejects."""

CLOSED = "This {what} is closed. Create another one."

ANOTHER_LOOP = (
    "This {what} was first used in another event loop. Each event loop, "
    "and so each thread, needs an object of its own: create it there, and close it there. "
    "`Antiphon`, the synchronous client, can be used in every thread."
)


class LibraryService:
    """Opens its parts at first use, and closes them. It belongs to the event loop of its first use.

    `settings` have the same effect as in a file for `antiphon serve`; those named in `rejects`
    raise `ConfigError`. `backend`, a base URL with its `key` or a `Backend`, replaces
    `settings.backends`, and `store` replaces `settings.store`. Without settings and backend it is
    the scripted model `demo`, with its state in memory.
    """

    def __init__(
        self,
        settings: Settings | None,
        backend: str | Backend | None = None,
        key: str = "",
        store: str | None = None,
        *,
        rejects: Sequence[str] = IN_CALLS,
        what: str = "client",
        agents: "Sequence[Agent]" = (),
    ) -> None:
        self.settings, self._environment, self._backends = _resolved(
            settings, backend, key, store, rejects
        )
        self.what = what
        self._agents = agents
        self._application: Application | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._adopting = threading.Lock()
        self._making: asyncio.Task[Application] | None = None
        self._is_closed = False

    async def open(self) -> Application:
        """Return the parts; create and start them at first use.

        Raises `ConfigError`, `StoreError`, `RuntimeError`.

        They are created in a task of their own: a cancelled caller leaves nothing behind.
        """
        self.check_loop()
        if self._is_closed:
            raise RuntimeError(CLOSED.format(what=self.what))
        if self._application is None:
            if self._making is None:
                self._making = asyncio.create_task(self._make())
                self._making.add_done_callback(_note)
            self._application = await asyncio.shield(self._making)
        return self._application

    async def _make(self) -> Application:
        try:
            application = await build(
                self.settings, self._environment, backends=self._backends, agents=self._worker()
            )
        except BaseException:
            self._making = None  # the next call tries again
            raise
        application.start()
        return application

    def _worker(self) -> "AgentWorker | None":
        if not self._agents:
            return None
        from antiphon.agents.execution import AgentWorker  # noqa: PLC0415 - for agents alone

        return AgentWorker(self._agents, runs_models=True)

    async def close(self) -> None:
        """Release everything. The next process that opens the store continues background work."""
        self.check_loop()
        self._is_closed = True
        making = self._making
        self._making = None
        self._application = None
        if making is None:
            return
        await asyncio.wait({making})
        if not making.cancelled() and making.exception() is None:
            application = making.result()
            application.abort()
            await application.close()

    def reset(self) -> None:
        """Reset it after it was closed: the next use opens it again, in any event loop."""
        self._is_closed = False
        self._loop = None

    def check_loop(self) -> None:
        """Raise `RuntimeError` in any event loop but the first one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            with self._adopting:
                self._loop = self._loop or loop
            if self._loop is not loop:
                raise RuntimeError(ANOTHER_LOOP.format(what=self.what))


def _note(task: "asyncio.Task[Application]") -> None:
    """Read the error of a task: callers that wait for it receive it, and without a caller it is not
    reported.
    """
    if not task.cancelled():
        task.exception()


def _resolved(
    settings: Settings | None,
    backend: str | Backend | None,
    key: str,
    store: str | None,
    rejects: Sequence[str],
) -> tuple[Settings, dict[str, str], list[Backend]]:
    """Return settings, environment and backends of a program's arguments. Raises `ConfigError`."""
    _check_types(settings, backend)
    if key and not isinstance(backend, str):
        raise ConfigError(
            "`key` was passed without the URL of a `backend`. Pass both, "
            "or set `key_env` in settings."
        )
    if settings is None:
        settings = Settings(store=MEMORY)
        backend = backend or demo_backend()
    elif backend is not None and settings.backends:
        raise ConfigError("`backend` and `settings.backends` were both passed. Pass one of them.")
    environment = dict(os.environ)
    if isinstance(backend, str):
        settings = replace(
            settings, backends=[BackendConfig(url=backend, key_env=KEY if key else "")]
        )
        environment[KEY] = key
    if store is not None:
        settings = replace(settings, store=store)
    settings = checked(settings)
    _check_effects(settings, rejects)
    return settings, environment, [] if backend is None or isinstance(backend, str) else [backend]


def _check_types(settings: object, backend: object) -> None:
    """Reject wrong arguments here, before they fail far from the program's line."""
    if not isinstance(settings, Settings | None):
        hint = (
            "Pass a base URL as `backend=`."
            if isinstance(settings, str)
            else "Pass `Settings(...)`."
        )
        raise ConfigError(
            f"The first argument is the settings, but it is a {type(settings).__name__}. {hint}"
        )
    if isinstance(backend, BackendConfig):
        raise ConfigError("`backend` is a `BackendConfig`. Pass it in `Settings(backends=[...])`.")


def _check_effects(settings: Settings, rejects: Sequence[str]) -> None:
    usual = Settings()
    for name in rejects:
        if getattr(settings, name) != getattr(usual, name):
            raise ConfigError(
                f"The setting `{name}` has no effect here: {REASONS[name]}. Remove it."
            )
