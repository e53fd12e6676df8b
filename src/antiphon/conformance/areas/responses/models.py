"""What models a server lists."""

from typing import Any
from urllib.parse import quote

from antiphon.conformance.case import case
from antiphon.conformance.reading import at, is_integer, is_text
from antiphon.conformance.refusal import is_envelope
from antiphon.conformance.requirement import Table, may, must, should
from antiphon.conformance.trial import Steps, Trial

TABLE: Table = (
    must(
        "responses:models:list",
        "spec 18",
        "`GET /models` answers with an object of type `list` whose `data` is a list.",
    ),
    must("responses:models:entry", "spec 18", "Each model has a string `id`, and `object` is `model`."),
    should("responses:models:created", "spec 18", "Each model has an integer `created` and a string `owned_by`."),
    should("responses:models:asked", "spec 18", "The model that answers here is among those listed."),
    may("responses:models:only-list", "spec 18", "The list has no keys but `object` and `data`."),
    must("responses:models:one", "spec 18", "`GET /models/{model}` answers with the entry of that model."),
    must("responses:models:unknown", "spec 18", "`GET /models/{model}` of no model is a 404 with an error envelope."),
)


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
