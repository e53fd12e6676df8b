"""`/v1/models`: what can be asked for, over all backends."""

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.server.reply import Reply, Resources, json_reply
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return what is served under which path. A request with a key sees the models that the key allows."""

    async def list_models(http: HttpRequest) -> Reply:
        return json_reply({"object": "list", "data": await gateway.models(http.key)})

    async def get_model(http: HttpRequest) -> Reply:
        name = http.path_params["model"]
        model = next((model for model in await gateway.models(http.key) if model["id"] == name), None)
        if model is None:
            text = f"The model '{name[:100]}' does not exist."
            raise ClientError(text, status=404, code="model_not_found", param="model")
        return json_reply(model)

    return {"/v1/models": {"GET": list_models}, "/v1/models/{model:path}": {"GET": get_model}}
