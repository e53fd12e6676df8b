"""The models that the API key of the current work allows: also for calls that the request does not
name.

A tool, the search in vector stores and the description of images call models of the settings, which
cost as much as the model of the request. `server/admission.py` checks that one, and what the key
allows is recorded here.
"""

from collections.abc import Collection, Sequence
from contextvars import ContextVar

from antiphon.errors import ClientError
from antiphon.upstream.options import LATEST

REDIRECTING = frozenset(
    {
        *(
            "api_base",
            "base_url",
            "api_key",
            "api_version",
            "custom_llm_provider",
            "extra_headers",
            "extra_body",
        ),
        *(
            "extra_query",
            "headers",
            "model_list",
            "fallbacks",
            "models",
            "provider",
            "route",
            "deployment_id",
        ),
    }
)
"""Parameters by which gateways behind this server (LiteLLM, OpenRouter, Portkey) call another model
or address.
"""

restriction: ContextVar[Sequence[str]] = ContextVar("permitted", default=())
"""The models that are allowed; empty for all."""


def permit(models: Sequence[str]) -> None:
    """Restrict the current work, and the tasks that it begins, to these models; none restricts
    nothing.
    """
    restriction.set(models)


def is_among(model: str, models: Sequence[str]) -> bool:
    """Whether a restriction allows a model; `llama3` and `llama3:latest` are the same model."""
    plain = model.removesuffix(LATEST)
    return not models or any(name in models for name in (model, plain, plain + LATEST))


def is_permitted(model: str) -> bool:
    """Whether the current work can call a model; an empty name is none."""
    return not model or is_among(model, restriction.get())


def check_permitted(model: str, what: str, param: str | None = None) -> None:
    """Raise `ClientError` (400) if the key does not allow the model that `what` calls.

    The error does not name it.
    """
    if not is_permitted(model):
        text = (
            f"{what} is not available to this API key, which is restricted to certain models. "
            "Do without it, or have the server's operator add its model to the key."
        )
        raise ClientError(text, code="model_not_found", param=param)


def check_parameters(names: Collection[str]) -> None:
    """Raise `ClientError` (400) if the key is restricted, and one of these parameters can select
    another model.
    """
    if restriction.get() and (found := REDIRECTING.intersection(names)):
        raise redirected(min(found), "is restricted to certain models")


def redirected(name: str, reason: str) -> ClientError:
    """Return the error for a parameter by which a key could reach another model; the key
    `reason`.
    """
    return ClientError(
        f"Unsupported parameter: '{name}' is not available to this API key, which {reason}. "
        "Remove the parameter, or use a key without that restriction.",
        code="unsupported_parameter",
        param=name,
    )
