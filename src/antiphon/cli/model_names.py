"""The names of a backend's models in `antiphon models` and in the server's first line."""

from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.options import is_listed


def offered(backend: BackendState) -> list[str]:
    """Return a line for each model name that clients can use, an alias or a preset with its
    model.

    If the backend has listed its models, the names that it does not list are marked.
    """
    return [_line(backend, model["id"]) for model in backend.offers()]


def _line(backend: BackendState, name: str) -> str:
    called = backend.called(name) or name
    line = name if called == name else f"{name} → {called}"
    is_known = is_listed(called, (model["id"] for model in backend.models))
    return line if is_known or backend.error else f"{line} (not listed)"
