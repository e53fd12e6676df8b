"""What models a server lists."""

from typing import Any
from urllib.parse import quote

from antiphon.conformance.case import case
from antiphon.conformance.envelope import is_envelope
from antiphon.conformance.reading import at, is_integer, is_text
from antiphon.conformance.trial import Steps, Trial


def is_entry(model: Any) -> bool:
    """Whether this is a model."""
    return is_text(at(model, "id")) and at(model, "object") == "model"


@case(
    "responses:models:list",
    "responses:models:entry",
    "responses:models:created",
    "responses:models:asked",
    "responses:models:only-list",
)
def models_are_listed(trial: Trial) -> Steps:
    """Ask for the models."""
    exchange = yield from trial.get("/models")
    answer = trial.whole(exchange)
    models = trial.found(answer, "data")
    is_list = at(answer, "object") == "list" and isinstance(models, list)
    if trial.expect("responses:models:list", is_list, exchange.came):
        trial.expect("responses:models:entry", all(map(is_entry, models)), exchange.came)
        told = [is_integer(at(model, "created")) and is_text(at(model, "owned_by")) for model in models]
        trial.expect("responses:models:created", all(told), exchange.came)
        names = [at(model, "id") for model in models]
        trial.expect("responses:models:asked", trial.model in names, names)
        trial.expect("responses:models:only-list", answer.keys() == {"object", "data"}, list(answer))


@case("responses:models:one")
def one_model_is_described(trial: Trial) -> Steps:
    """Ask for the model."""
    exchange = yield from trial.get(f"/models/{quote(trial.model, safe='')}")
    answer = trial.whole(exchange)
    is_it = is_entry(answer) and answer["id"] == trial.model
    trial.expect("responses:models:one", is_it, exchange.came)


@case("responses:models:unknown")
def an_unknown_model_is_not_found(trial: Trial) -> Steps:
    """Ask for a model that nobody has."""
    exchange = yield from trial.get("/models/no-such-model")
    trial.offered(exchange)
    trial.expect("responses:models:unknown", exchange.status == 404 and is_envelope(exchange), exchange.came)
