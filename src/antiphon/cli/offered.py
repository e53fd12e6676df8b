"""The names of a backend's models in `antiphon models` and in the server's first line."""

from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.options import is_listed


def offered(served: BackendState) -> list[str]:
    """Return a line for each model name that clients can use, an alias with its target.

    If the backend has listed its models, the names that it does not list are marked.
    """
    return [_line(served, model["id"]) for model in served.offers()]


def _line(served: BackendState, name: str) -> str:
    called = served.options.aliases.get(name, name)
    line = name if called == name else f"{name} → {called}"
    is_known = is_listed(called, (model["id"] for model in served.models))
    return line if is_known or served.error else f"{line} (not listed)"
