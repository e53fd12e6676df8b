"""`/v1/models` for clients of the Messages API, which list models in another form."""

from collections.abc import Mapping, Sequence

from antiphon.errors import NotFoundError
from antiphon.gateway import Gateway, JsonObject
from antiphon.protocol.messages.model_names import aliases
from antiphon.protocol.messages.models import (
    MOST,
    USUAL_LIMIT,
    ListedModel,
    model_info,
    models_page,
)
from antiphon.protocol.messages.wording import refusal
from antiphon.server.message_errors import REQUEST_ID
from antiphon.server.reply import Reply
from antiphon.server.request import HttpRequest
from antiphon.telemetry.context import about


async def list_models(gateway: Gateway, http: HttpRequest) -> Reply:
    """Return a page of the models that the key of a request allows."""
    query = {name: values[-1] for name, values in http.query().items()}
    page = models_page(
        await _listed(gateway, http),
        limit=_limit(query),
        after_id=query.get("after_id", ""),
        before_id=query.get("before_id", ""),
    )
    return _reply(page)


async def get_model(gateway: Gateway, http: HttpRequest) -> Reply:
    """Return one of these models. Raises `NotFoundError`."""
    name = http.path_params["model"]
    found = next((one for one in await _listed(gateway, http) if one.id == name), None)
    if found is None:
        raise NotFoundError(f"model: {name[:512]}", code="model_not_found")
    return _reply(model_info(found))


async def _listed(gateway: Gateway, http: HttpRequest) -> Sequence[ListedModel]:
    models = {str(one["id"]): one for one in await gateway.models.list(http.key)}
    names = [(name, name) for name in models]
    names += aliases(gateway.messages_models, models)
    return [_model(gateway, name, models[model]) for name, model in names]


def _model(gateway: Gateway, name: str, model: JsonObject) -> ListedModel:
    known = gateway.models.abilities(str(model["id"]))
    return ListedModel(
        id=name,
        created=int(model.get("created") or 0),
        display_name=str(model["id"]),
        max_input_tokens=known.context_window,
        sees_images=known.sees_images,
    )


def _limit(query: Mapping[str, str]) -> int:
    stated = query.get("limit", str(USUAL_LIMIT))
    if not (stated.isascii() and stated.isdecimal()) or not 1 <= int(stated[:9]) <= MOST:
        raise refusal("limit", f"Input should be a valid integer between 1 and {MOST}")
    return int(stated)


def _reply(body: JsonObject) -> Reply:
    return Reply(body, [(REQUEST_ID, about().request_id.encode())])
