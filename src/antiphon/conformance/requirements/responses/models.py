"""`/models`."""

from antiphon.conformance.requirement import Table, may, must, should

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
