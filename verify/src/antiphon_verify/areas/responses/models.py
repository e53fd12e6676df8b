"""The models that a server lists."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from antiphon_verify.case import case
from antiphon_verify.reading import at, is_integer, is_text
from antiphon_verify.replies import error, states
from antiphon_verify.replies.responses import models as replies
from antiphon_verify.requirement import capability, may, must, should
from antiphon_verify.trial import Steps, Trial

CODEX_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "slug": is_text,
    "display_name": is_text,
    "base_instructions": is_text,
    "shell_type": is_text,
    "visibility": is_text,
    "priority": is_integer,
    "supported_in_api": lambda value: isinstance(value, bool),
    "support_verbosity": lambda value: isinstance(value, bool),
    "supported_reasoning_levels": lambda value: isinstance(value, list),
    "experimental_supported_tools": lambda value: isinstance(value, list),
    "truncation_policy": lambda value: (
        is_text(at(value, "mode")) and is_integer(at(value, "limit"))
    ),
}
"""What Codex 0.169 requires of an entry. It also accepts a template of the instructions, which only
OpenAI writes.
"""


def is_entry(model: Any) -> bool:
    """Whether this is a model."""
    return is_text(at(model, "id")) and at(model, "object") == "model"


def is_codex_entry(entry: Any) -> bool:
    """Whether Codex accepts this as a model of its catalog."""
    return all(is_valid(at(entry, name)) for name, is_valid in CODEX_FIELDS.items())


@case(
    must(
        "responses:models:list",
        "spec 18",
        "`GET /models` returns an object of type `list` with a list in `data`.",
        fault=[replies.LIST.without("object")],
    ),
    must(
        "responses:models:entry",
        "spec 18",
        "Each model has a string `id`, and `object` is `model`.",
        fault=[replies.LIST.patched("data", 0, "object", to="thing")],
    ),
    should(
        "responses:models:created",
        "spec 18",
        "Each model has an integer `created` and a string `owned_by`.",
        fault=[replies.LIST.without("data", 0, "created")],
    ),
    should(
        "responses:models:asked",
        "spec 18",
        "The tested model is listed.",
        fault=[replies.LIST.patched("data", 0, "id", to="another")],
    ),
    may(
        "responses:models:only-list",
        "spec 18",
        "The list has no keys except `object` and `data`.",
        fault=[replies.LIST.patched("models", to=[])],
    ),
    good=[replies.LIST],
)
def models_are_listed(trial: Trial) -> Steps:
    """Request the models."""
    exchange = yield from trial.get("/models")
    answer = trial.whole(exchange)
    models = trial.found(answer, "data")
    is_list = at(answer, "object") == "list" and isinstance(models, list)
    if trial.expect("responses:models:list", is_list, exchange.came):
        trial.expect("responses:models:entry", all(map(is_entry, models)), exchange.came)
        complete = [
            is_integer(at(model, "created")) and is_text(at(model, "owned_by")) for model in models
        ]
        trial.expect("responses:models:created", all(complete), exchange.came)
        names = [at(model, "id") for model in models]
        trial.expect("responses:models:asked", trial.model in names, names)
        trial.expect(
            "responses:models:only-list", answer.keys() == {"object", "data"}, list(answer)
        )


@case(
    capability(
        should(
            "responses:models:codex-catalog",
            "client codex",
            "`GET /models?client_version=…` has `models`, a catalog that Codex accepts, with the "
            "tested model.",
            fault=[replies.LIST.patched("models", to=[replies.CODEX_ENTRY | {"slug": "another"}])],
        )
    ),
    good=[replies.LIST.patched("models", to=[replies.CODEX_ENTRY])],
)
def codex_reads_the_models(trial: Trial) -> Steps:
    """Request the models as Codex does."""
    exchange = yield from trial.get("/models?client_version=0.169.0")
    entries = at(trial.whole(exchange), "models")
    is_catalog = isinstance(entries, list) and all(map(is_codex_entry, entries))
    names = [at(entry, "slug") for entry in entries] if is_catalog else []
    trial.expect("responses:models:codex-catalog", trial.model in names, exchange.came)


@case(
    must(
        "responses:models:one",
        "spec 18",
        "`GET /models/{model}` returns the entry of the model.",
        fault=[states(replies.ENTRY | {"id": "another"})],
    ),
    good=[states(replies.ENTRY)],
)
def one_model_is_described(trial: Trial) -> Steps:
    """Request the model."""
    exchange = yield from trial.get(f"/models/{quote(trial.model, safe='')}")
    answer = trial.whole(exchange)
    is_it = is_entry(answer) and answer["id"] == trial.model
    trial.expect("responses:models:one", is_it, exchange.came)


@case(
    must(
        "responses:models:unknown",
        "spec 18",
        "`GET /models/{model}` of an unknown model returns 404.",
        fault=[states(replies.ENTRY)],
    ),
    good=[error("The model 'no-such-model' does not exist.", 404, "model_not_found", "model")],
)
def an_unknown_model_is_not_found(trial: Trial) -> Steps:
    """Request an unknown model."""
    exchange = yield from trial.get("/models/no-such-model")
    trial.offered(exchange)
    trial.expect("responses:models:unknown", exchange.status == 404, exchange.came)
