"""`/v1/models`: the models of all backends. Codex sends `client_version`, and receives its catalog
too.
"""

from collections.abc import Sequence

from antiphon.errors import ClientError
from antiphon.gateway import Gateway, JsonObject
from antiphon.server.described import Described, query_parameter
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path. A request with a key sees the models that the key allows."""

    async def list_models(http: HttpRequest) -> Reply:
        if http.speaks_messages:
            from antiphon.server import message_models  # noqa: PLC0415 - for the Messages API alone

            return await message_models.list_models(gateway, http)
        models = await gateway.models.list(http.key)
        listed: JsonObject = {"object": "list", "data": models}
        if "client_version" in http.query():
            listed["models"] = _codex_catalog(gateway, [model["id"] for model in models])
        return Reply(listed)

    async def get_model(http: HttpRequest) -> Reply:
        if http.speaks_messages:
            from antiphon.server import message_models  # noqa: PLC0415 - the same

            return await message_models.get_model(gateway, http)
        return Reply(await gateway.models.retrieve(http.path_params["model"], http.key))

    async def delete_model(http: HttpRequest) -> Reply:
        """Reject it: as at OpenAI, only fine-tuned models of the organization can be deleted; no
        backend has one.
        """
        name = (await gateway.models.retrieve(http.path_params["model"], http.key))["id"]
        raise ClientError(
            f"The model '{name[:100]}' cannot be deleted through this API: only fine-tuned models "
            "of your own organization can. Its operator can remove it from its backend.",
            status=403,
            code="insufficient_permissions",
            param="model",
        )

    one = {"GET": get_model, "DELETE": delete_model}
    return {"/v1/models": {"GET": list_models}, "/v1/models/{model:path}": one}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    one = "/v1/models/{model}"
    client_version = query_parameter("client_version", {"type": "string"})
    return (
        Described("get", "/v1/models", "List models", parameters=(client_version,)),
        Described("get", one, "Get a model"),
        Described("delete", one, "Delete a model (always rejected)"),
    )


def _codex_catalog(gateway: Gateway, models: Sequence[str]) -> list[JsonObject]:
    from antiphon.server.codex_catalog import catalog  # noqa: PLC0415 - only for Codex

    found = {model: gateway.models.abilities(model) for model in models}
    verdicts = {model: one.verdict for model, one in found.items()}
    return catalog(
        ((model, one.context_window, one.sees_images) for model, one in found.items()), verdicts
    )
