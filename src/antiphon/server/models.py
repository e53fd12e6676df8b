"""`/v1/models`: what can be asked for, over all backends."""

from typing import Any

from starlette.types import Receive, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.engine.keys.limits import allows
from antiphon.errors import ClientError
from antiphon.server.access import api_key_of
from antiphon.server.http import Resources, reply_json


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def list_models(scope: Scope, receive: Receive, send: Send) -> None:
        await engine.models.refresh()
        await reply_json(send, {"object": "list", "data": await _seen(scope)})

    async def _seen(scope: Scope) -> list[dict[str, Any]]:
        """The models that the key allows."""
        key, models = await api_key_of(scope), engine.models.list()
        return models if key is None else [model for model in models if allows(key.limits, model["id"])]

    async def get_model(scope: Scope, receive: Receive, send: Send) -> None:
        await engine.models.refresh()
        name = scope["path_params"]["model"]
        model = next((model for model in await _seen(scope) if model["id"] == name), None)
        if model is None:
            text = f"The model '{name[:100]}' does not exist."
            raise ClientError(text, status=404, code="model_not_found", param="model")
        await reply_json(send, model)

    return {"/v1/models": {"GET": list_models}, "/v1/models/{model:path}": {"GET": get_model}}
