"""How each server that is compared is started."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import nginx
from bench.measure import PLAIN_CHAT
from bench.peers import install
from bench.process import free_port, running
from bench.server import Served, antiphon, wait_for_answer

LITELLM = "litellm[proxy]"
AGENTIC = "agentic-api"

Start = Callable[[int, Path], AbstractContextManager[Served]]
"""Starts a server before the backend at this port, with this folder for its files."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that is compared. One that stores nothing is not asked to; nginx is asked for what the backend has."""

    name: str
    start: Start
    stores: bool = True
    path: str = "/v1/responses"


def peers(ref: str | None) -> Iterator[Peer | str]:
    """Return the servers, and a sentence for each that cannot be had."""
    yield Peer("antiphon", _antiphon)
    if ref is not None:
        try:
            name, binaries = install.commit(ref)
            yield Peer(f"antiphon {name}", partial(_antiphon, python=str(binaries / "python")))
        except install.NotInstalledError as error:
            yield f"antiphon {ref} cannot be installed: {error}"
    if (program := nginx.find()) is not None:
        yield Peer("nginx", partial(_nginx, program), stores=False, path=PLAIN_CHAT[0])
    else:
        yield "nginx is not installed"
    for name, requirement, start in (("litellm", LITELLM, _litellm), ("agentic-api", AGENTIC, _agentic)):
        try:
            yield Peer(name, partial(start, install.environment(name, [requirement])))
        except install.NotInstalledError as error:
            yield f"{name} cannot be installed: {error}"


def _antiphon(backend: int, folder: Path, *, python: str | None = None) -> AbstractContextManager[Served]:
    store = f"sqlite://{folder}/antiphon.db"
    return antiphon(backend, folder, store, python=python) if python else antiphon(backend, folder, store)


def _nginx(program: str, backend: int, folder: Path) -> AbstractContextManager[Served]:
    return nginx.nginx(program, backend, folder)


_LITELLM_SETTINGS = """
model_list:
  - model_name: "*"
    litellm_params: {{model: "hosted_vllm/*", api_base: "http://127.0.0.1:{backend}/v1", api_key: none}}
"""


_LITELLM_VARIABLES = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",  # on the loopback, as all that are compared
}


def _litellm(binaries: Path, backend: int, folder: Path) -> AbstractContextManager[Served]:
    settings = folder / "litellm.yaml"
    settings.write_text(_LITELLM_SETTINGS.format(backend=backend))
    port = free_port()
    command = [str(binaries / "litellm"), "--config", str(settings), "--host", "127.0.0.1", "--port", str(port)]
    return _started(command, port, "/health/liveliness", folder, _LITELLM_VARIABLES)


def _agentic(binaries: Path, backend: int, folder: Path) -> AbstractContextManager[Served]:
    port = free_port()
    command = [str(binaries / "agentic-server"), "--llm-api-base", f"http://127.0.0.1:{backend}"]
    command += ["--skip-llm-ready-check", "--gateway-host", "127.0.0.1", "--gateway-port", str(port)]
    command += ["--db-url", f"sqlite://{folder}/agentic.db?mode=rwc"]
    return _started(command, port, "/health", folder, {"OPENAI_API_KEY": "none", "HOME": str(folder)})


@contextmanager
def _started(command: list[str], port: int, path: str, folder: Path, variables: dict[str, str]) -> Iterator[Served]:
    began = time.perf_counter()
    inherited = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "DATABASE_URL"}}
    log = folder / "output.log"
    with running(command, {**inherited, **variables}, folder, log=log) as program:
        try:
            wait_for_answer(port, path, program, seconds=120)
        except RuntimeError as error:
            last = (log.read_text().strip().splitlines() or ["it printed nothing"])[-1]
            raise RuntimeError(f"it does not start: {last}") from error
        yield Served(port, program.pid, time.perf_counter() - began)
