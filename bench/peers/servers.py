"""How each server that is compared is installed and started."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from antiphon import __version__
from bench import nginx
from bench.measure import PLAIN_CHAT
from bench.peers import install, ogx
from bench.ports import free_port
from bench.process import running
from bench.server import RunningServer, antiphon, wait_for_answer

RESPONSES = "/v1/responses"
CHAT = PLAIN_CHAT[0]

Start = Callable[[int, Path], AbstractContextManager[RunningServer]]
"""Starts a server before the backend at this port, with this folder for its files."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that is compared.

    One that stores nothing is not asked to; nginx is asked for what the backend has.
    """

    name: str
    version: str
    start: Start
    stores: bool = True
    path: str = RESPONSES
    prefix: str = ""
    """What stands before the name of the backend's model."""
    plain_model: str = "burst"
    """The backend's model for requests without a stream."""


@dataclass(frozen=True, slots=True)
class Package:
    """A peer from PyPI: what is installed, and how its program is started from there."""

    name: str
    distribution: str
    start: Callable[[Path, int, Path], AbstractContextManager[RunningServer]]
    extras: str = ""
    besides: Sequence[str] = ()
    minor: str | None = None
    """The version of Python that it needs, if it does not run with that of the bench."""
    prefix: str = ""
    plain_model: str = "burst"


def peers(ref: str | None, only: str | None = None) -> Iterator[Peer | str]:
    """Return the servers, and a sentence for each that cannot be had.

    `only` chooses those with this in their names.
    """
    yield Peer("antiphon", f"{__version__}, {install.commit()}", _antiphon)
    if ref is not None:
        try:
            python = install.installed(ref) / "python"
            yield Peer(
                f"antiphon {ref}", install.commit(ref), partial(_antiphon, python=str(python))
            )
        except install.NotInstalledError as error:
            yield f"antiphon {ref} cannot be installed: {error}"
    if (program := nginx.find()) is not None:
        yield Peer(
            "nginx", nginx.version(program), partial(_nginx, program), stores=False, path=CHAT
        )
    else:
        yield "nginx is not installed"
    for package in PACKAGES:
        if only is None or only in package.name:
            yield _installed(package)


def _installed(package: Package) -> Peer | str:
    required = [package.distribution + package.extras, *package.besides]
    try:
        binaries = install.environment(package.name, required, minor=package.minor)
        version = install.version(binaries, package.distribution)
    except install.NotInstalledError as error:
        return f"{package.name} cannot be installed: {error}"
    return Peer(
        package.name,
        version,
        partial(package.start, binaries),
        True,
        RESPONSES,
        package.prefix,
        package.plain_model,
    )


def _antiphon(
    backend: int, folder: Path, *, python: str | None = None
) -> AbstractContextManager[RunningServer]:
    store = f"sqlite://{folder}/antiphon.db"
    return (
        antiphon(backend, folder, store, python=python)
        if python
        else antiphon(backend, folder, store)
    )


def _nginx(program: str, backend: int, folder: Path) -> AbstractContextManager[RunningServer]:
    return nginx.nginx(program, backend, folder)


def _litellm(binaries: Path, backend: int, folder: Path) -> AbstractContextManager[RunningServer]:
    """Its own translation. A model of `hosted_vllm/` would be asked for Responses: LiteLLM only
    passes those on.
    """
    model = {
        "model": "openai/*",
        "api_base": f"http://127.0.0.1:{backend}/v1",
        "api_key": "none",
        "use_chat_completions_api": True,
    }
    settings = folder / "litellm.yaml"
    settings.write_text(json.dumps({"model_list": [{"model_name": "*", "litellm_params": model}]}))
    port = free_port()
    command = [
        str(binaries / "litellm"),
        "--config",
        str(settings),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    variables = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        # on the loopback, as all that are compared
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    return _started(command, port, "/health/liveliness", folder, variables)


def _ogx(binaries: Path, backend: int, folder: Path) -> AbstractContextManager[RunningServer]:
    """Its starter distribution with one backend.

    It would fetch the table of a tokenizer, which LiteLLM includes.
    """
    port = free_port()
    settings = folder / "ogx.yaml"
    settings.write_text(json.dumps(ogx.settings(backend, port, folder)))
    tables = install.FOLDER.glob(
        "LiteLLM/lib/python*/site-packages/litellm/litellm_core_utils/tokenizers"
    )
    command = [str(binaries / "ogx"), "run", "--insecure", str(settings)]
    variables = {"HOME": str(folder), "TIKTOKEN_CACHE_DIR": str(next(tables, folder))}
    return _started(command, port, "/v1/health", folder, variables)


def _agentic(binaries: Path, backend: int, folder: Path) -> AbstractContextManager[RunningServer]:
    """It passes Responses requests on."""
    port = free_port()
    command = [str(binaries / "agentic-server"), "--llm-api-base", f"http://127.0.0.1:{backend}"]
    command += [
        "--skip-llm-ready-check",
        "--gateway-host",
        "127.0.0.1",
        "--gateway-port",
        str(port),
    ]
    command += ["--db-url", f"sqlite://{folder}/agentic.db?mode=rwc"]
    return _started(
        command, port, "/health", folder, {"OPENAI_API_KEY": "none", "HOME": str(folder)}
    )


def _smg(binaries: Path, backend: int, folder: Path) -> AbstractContextManager[RunningServer]:
    """It passes Responses requests on, and stores them in memory: it has no SQLite."""
    port = free_port()
    command = [str(binaries / "smg"), "launch", "--backend", "openai"]
    command += ["--worker-urls", f"http://127.0.0.1:{backend}", "--history-backend", "memory"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--prometheus-port", str(free_port())]
    return _started(
        command, port, "/health", folder, {"OPENAI_API_KEY": "none", "HOME": str(folder)}
    )


PACKAGES = (
    Package("LiteLLM", "litellm", _litellm, extras="[proxy]"),
    # It asks for a stream even for a plain answer: of one delta, so that it reads no more than the
    # others.
    Package(
        "OGX", "ogx", _ogx, besides=ogx.NEEDED, minor="3.12", prefix=ogx.PREFIX, plain_model="word"
    ),
    Package("agentic-api", "agentic-api", _agentic),
    Package("SGLang gateway", "smg", _smg),
)


@contextmanager
def _started(
    command: list[str], port: int, path: str, folder: Path, variables: dict[str, str]
) -> Iterator[RunningServer]:
    began = time.perf_counter()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "DATABASE_URL"}
    }
    log = folder / "output.log"
    with running(command, {**inherited, **variables}, folder, log=log) as program:
        try:
            wait_for_answer(port, path, program, seconds=120)
        except RuntimeError as error:
            last = (log.read_text().strip().splitlines() or ["it printed nothing"])[-1]
            raise RuntimeError(f"it does not start: {last}") from error
        yield RunningServer(port, program.pid, time.perf_counter() - began)
