"""`/v1/prompts`, and the resolution of a request's prompt, as the gateway offers them."""

from antiphon.gateway.made import Made
from antiphon.history.prompted import encode_resolved, resolve
from antiphon.protocol.prompts import NewPromptVersion, PromptsQuery, PromptTemplate
from antiphon.protocol.requests import CreateResponse, PromptParam
from antiphon.stored import prompts
from antiphon.stored.parts import ObjectParts

LARGE = 64 * 1024
"""Bytes of a request above which it is encoded in a thread."""


class Prompts:
    """`/v1/prompts` as methods."""

    def __init__(self, parts: ObjectParts) -> None:
        self._parts = parts

    async def resolve(self, tenant: str, request: CreateResponse, size: int = 0) -> tuple[CreateResponse, bytes]:
        """Return a request of `size` bytes with its prompt resolved, and its JSON for a worker. Raises `ClientError`.

        A request without a prompt is returned unchanged.
        """
        if not isinstance(request.prompt, PromptParam):
            return request, b""
        resolved = await resolve(self._parts, tenant, request, request.prompt)
        if size <= LARGE:
            return resolved, encode_resolved(resolved)
        return resolved, await self._parts.offload.run(tenant, encode_resolved, resolved)

    def create(self, tenant: str, template: PromptTemplate) -> Made:
        """Create a prompt with its first version."""
        return prompts.create(self._parts, tenant, template)

    def list(self, tenant: str, query: PromptsQuery) -> Made:
        """Return a page of the prompts."""
        return prompts.list_prompts(self._parts, tenant, query)

    def retrieve(self, tenant: str, prompt_id: str, version: str | None = None) -> Made:
        """Return a version of a prompt, by default the default version."""
        return prompts.retrieve(self._parts, tenant, prompt_id, version)

    def add_version(self, tenant: str, prompt_id: str, request: NewPromptVersion) -> Made:
        """Add a version to a prompt."""
        return prompts.add_version(self._parts, tenant, prompt_id, request)

    def list_versions(self, tenant: str, prompt_id: str, query: PromptsQuery) -> Made:
        """Return a page of the versions of a prompt."""
        return prompts.list_versions(self._parts, tenant, prompt_id, query)

    def set_default(self, tenant: str, prompt_id: str, version: int) -> Made:
        """Make a version the default of its prompt."""
        return prompts.set_default(self._parts, tenant, prompt_id, version)

    def delete(self, tenant: str, prompt_id: str) -> Made:
        """Delete a prompt with all versions."""
        return prompts.delete(self._parts, tenant, prompt_id)
