"""`/v1/prompts`: templates of requests in versions that never change (specification of hosted
tools, section 9).
"""

from collections.abc import Sequence

from antiphon.gateway import Gateway
from antiphon.protocol.prompts import (
    NewPromptVersion,
    PromptQuery,
    PromptsQuery,
    PromptTemplate,
    SetDefaultVersion,
)
from antiphon.protocol.validation.prompts import (
    decode_default_version,
    decode_new_version,
    decode_prompt,
    decode_prompt_query,
    decode_prompts_query,
)
from antiphon.server.admission import acquire, decoded
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest

ONE = "/v1/prompts/{prompt_id}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Prompts(gateway)
    return {
        "/v1/prompts": {"GET": api.list, "POST": api.create},
        ONE: {"GET": api.retrieve, "POST": api.add_version, "DELETE": api.delete},
        f"{ONE}/versions": {"GET": api.list_versions},
        f"{ONE}/default_version": {"POST": api.set_default},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    return (
        Described("post", "/v1/prompts", "Create a prompt", PromptTemplate),
        Described("get", "/v1/prompts", "List prompts", query=PromptsQuery),
        Described("get", ONE, "Get a prompt", query=PromptQuery),
        Described("post", ONE, "Add a version to a prompt", NewPromptVersion),
        Described("delete", ONE, "Delete a prompt with all versions"),
        Described("get", f"{ONE}/versions", "List the versions of a prompt", query=PromptsQuery),
        Described(
            "post",
            f"{ONE}/default_version",
            "Set the default version of a prompt",
            SetDefaultVersion,
        ),
    )


class _Prompts:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._prompts = gateway.prompts

    async def list(self, http: HttpRequest) -> Reply:
        query = decode_prompts_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._prompts.list(http.tenant, query))

    async def create(self, http: HttpRequest) -> Reply:
        template = await decoded(self._gateway, http, await http.body(), decode_prompt)
        await acquire(self._gateway, http, None)
        return Reply(await self._prompts.create(http.tenant, template))

    async def retrieve(self, http: HttpRequest) -> Reply:
        query = decode_prompt_query(http.query())
        return Reply(await self._prompts.retrieve(http.tenant, _id(http), query.version))

    async def add_version(self, http: HttpRequest) -> Reply:
        request = await decoded(self._gateway, http, await http.body(), decode_new_version)
        await acquire(self._gateway, http, None)
        return Reply(await self._prompts.add_version(http.tenant, _id(http), request))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._prompts.delete(http.tenant, _id(http)))

    async def list_versions(self, http: HttpRequest) -> Reply:
        query = decode_prompts_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._prompts.list_versions(http.tenant, _id(http), query))

    async def set_default(self, http: HttpRequest) -> Reply:
        version = decode_default_version(await http.body())
        return Reply(await self._prompts.set_default(http.tenant, _id(http), version))


def _id(http: HttpRequest) -> str:
    return http.path_params["prompt_id"]
