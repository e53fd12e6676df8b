"""Prompts (specification of hosted tools, section 9): the operations on them. Prompts in the
settings are read-only.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import asdict

from antiphon.access.credentials import carries_credentials
from antiphon.errors import ClientError
from antiphon.history.history_errors import conversation_not_found
from antiphon.history.prompted import (
    SettingsPrompt,
    as_stored,
    encode_resolved,
    merged,
    number_of,
    template_of,
    unknown_prompt,
)
from antiphon.ids import Clock, NewId
from antiphon.objects.pages import JsonObject, page_of
from antiphon.protocol.prompts import NewPromptVersion, PromptsQuery, PromptTemplate, defaults_of
from antiphon.protocol.requests import CreateResponse, PromptedRequest, PromptParam
from antiphon.protocol.templates import variables_of
from antiphon.protocol.validation import refusals
from antiphon.recording.quota import StorageQuota
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import conversations, prompts
from antiphon.storage.records.pages import ListQuery, Page
from antiphon.storage.records.prompts import StoredPrompt
from antiphon.storage.store import Store

MOST_VERSIONS = 10_000
"""Maximum number of versions of all prompts of a tenant."""


class Prompts:
    """The prompts of all tenants.

    `named` are those of the settings, by their ids, which clients cannot change.
    """

    def __init__(
        self,
        store: Store,
        offload: Offload,
        named: Mapping[str, SettingsPrompt],
        quota: StorageQuota,
        new_id: NewId,
        now: Clock,
    ) -> None:
        self._store = store
        self._offload = offload
        self._named = named
        self._quota = quota
        self._new_id = new_id
        self._now = now

    async def resolve(
        self, tenant: str, request: CreateResponse, size: int = 0
    ) -> tuple[CreateResponse, bytes]:
        """Return a request of `size` bytes with its prompt resolved, and its JSON for a worker.

        A request without a prompt is returned unchanged. Raises `ClientError`: 404 for an unknown
        prompt, 400; an unknown conversation is reported first, as the API does.
        """
        if not isinstance(request.prompt, PromptParam):
            return request, b""
        resolved = await self._merged(tenant, request, request.prompt)
        return resolved, await self._offload.run(tenant, size, encode_resolved, resolved)

    async def _merged(
        self, tenant: str, request: CreateResponse, prompt: PromptParam
    ) -> PromptedRequest:
        try:
            return merged(
                request, prompt, template_of(await self._find(tenant, prompt.id, prompt.version))
            )
        except ClientError:
            conversation = request.conversation_id
            if (
                conversation
                and await self._store.read(conversations.load, tenant, conversation) is None
            ):
                raise conversation_not_found(conversation) from None
            raise

    async def create(self, tenant: str, template: PromptTemplate) -> JsonObject:
        """Create a prompt with its first version.

        Raises `ClientError`: 400, 429 if the tenant has no room.
        """
        body = _encoded(template)
        with await self._quota.reserve(tenant, len(body)):
            prompt_id = self._new_id("pmpt")
            now = int(self._now())
            stored = await self._store.write(
                prompts.create, tenant, prompt_id, body, now, MOST_VERSIONS
            )
        if stored is None:
            raise _full()
        return prompt_object(stored)

    async def add_version(
        self, tenant: str, prompt_id: str, request: NewPromptVersion
    ) -> JsonObject:
        """Add a version to a prompt; return it.

        Raises `ClientError`: 400, 404, 429 if the tenant has no room.
        """
        self._check_stored(prompt_id)
        fields = asdict(request)
        is_default = fields.pop("set_as_default")
        if request.name is None:
            fields["name"] = template_of(await self._find(tenant, prompt_id)).name
        body = _encoded(PromptTemplate(**fields))
        with await self._quota.reserve(tenant, len(body)):
            stored = await self._store.write(
                prompts.add_version,
                tenant,
                prompt_id,
                body,
                int(self._now()),
                MOST_VERSIONS,
                is_default=is_default,
            )
        if stored is None:
            await self._find(tenant, prompt_id)
            raise _full()
        return prompt_object(stored)

    async def retrieve(self, tenant: str, prompt_id: str, version: str | None = None) -> JsonObject:
        """Return a version of a prompt, by default its default version.

        Raises `ClientError` (404).
        """
        return prompt_object(await self._find(tenant, prompt_id, version))

    async def list(self, tenant: str, query: PromptsQuery) -> JsonObject:
        """Return a page of the prompts.

        Those in the settings are the oldest. Raises `ClientError` (400).
        """
        named = [as_stored(*one) for one in sorted(self._named.items())]
        ids = [one.id for one in named]
        if query.order == "desc":
            named.reverse()
            if query.after in ids[::-1]:
                return _page(named[ids[::-1].index(str(query.after)) + 1 :], query.limit)
            page = await self._stored_page(tenant, query)
            return _page(
                [*page.data, *([] if page.has_more else named)],
                query.limit,
                has_more=page.has_more,
            )
        if query.after is None or query.after in ids:
            first = named[ids.index(query.after) + 1 if query.after else 0 :]
            page = await self._store.read(
                prompts.page, tenant, ListQuery(query.limit, None, descending=False)
            )
            return _page([*first, *page.data], query.limit, has_more=page.has_more)
        page = await self._stored_page(tenant, query)
        return _page(page.data, query.limit, has_more=page.has_more)

    async def list_versions(self, tenant: str, prompt_id: str, query: PromptsQuery) -> JsonObject:
        """Return a page of a prompt's versions.

        Raises `ClientError`: 404, 400 if `after` is not in the list.
        """
        if (named := self._named.get(prompt_id)) is not None:
            return _page(
                [] if query.after == str(named.version) else [as_stored(prompt_id, named)],
                query.limit,
            )
        page = await self._store.read(prompts.versions, tenant, prompt_id, _query(query))
        if page is None:
            raise unknown_prompt(prompt_id)
        if page.unknown:
            raise refusals.invalid(
                "after", f"the prompt has no version '{refusals.quoted(query.after)}'."
            )
        data = [prompt_object(one) for one in page.data]
        return page_of(data, has_more=page.has_more, ids=[str(one.version) for one in page.data])

    async def set_default(self, tenant: str, prompt_id: str, version: int) -> JsonObject:
        """Make a version the default; return it.

        Raises `ClientError`: 400 for a prompt in the settings, 404.
        """
        self._check_stored(prompt_id)
        stored = await self._store.write(prompts.set_default, tenant, prompt_id, version)
        if stored is None:
            await self._find(tenant, prompt_id)
            raise unknown_prompt(prompt_id, str(version))
        return prompt_object(stored)

    async def delete(self, tenant: str, prompt_id: str) -> JsonObject:
        """Delete a prompt with all its versions.

        Raises `ClientError`: 400 for a prompt in the settings, 404.
        """
        self._check_stored(prompt_id)
        if not await self._store.write(prompts.delete, tenant, prompt_id):
            raise unknown_prompt(prompt_id)
        return {"id": prompt_id, "object": "prompt.deleted", "deleted": True}

    async def _find(self, tenant: str, prompt_id: str, version: str | None = None) -> StoredPrompt:
        """Return a version of a prompt, by default the default version.

        Raises `ClientError` (404).
        """
        number = None if version is None else number_of(version)
        named = self._named.get(prompt_id)
        if named is not None:
            found = as_stored(prompt_id, named) if number in (None, named.version) else None
        else:
            found = (
                None
                if number == 0
                else await self._store.read(prompts.find, tenant, prompt_id, number)
            )
        if found is None:
            raise unknown_prompt(prompt_id, version)
        return found

    async def _stored_page(self, tenant: str, query: PromptsQuery) -> Page[StoredPrompt]:
        page = await self._store.read(prompts.page, tenant, _query(query))
        if page.unknown:
            raise refusals.invalid(
                "after", f"no prompt has the id '{refusals.quoted(query.after)}'."
            )
        return page

    def _check_stored(self, prompt_id: str) -> None:
        if prompt_id in self._named:
            text = (
                f"The prompt '{prompt_id}' is defined in the settings of this server. "
                "Change it there."
            )
            raise ClientError(text, code="read_only_prompt")


def prompt_object(stored: StoredPrompt) -> JsonObject:
    """Return a version of a prompt as an API object."""
    template = template_of(stored)
    stated: JsonObject = msgspec.to_builtins(template)
    return {
        "id": stored.id,
        "object": "prompt",
        "created_at": stored.created_at,
        "name": template.name,
        "version": stored.version,
        "is_default": stored.is_default,
        "variables": variables_of(template),
        "instructions": template.instructions,
        "messages": stated.get("messages", []),
        "model": template.model,
        "defaults": stated.get("defaults", {}),
    }


def _query(query: PromptsQuery) -> ListQuery:
    return ListQuery(query.limit, query.after, query.order == "desc")


def _page(found: Sequence[StoredPrompt], limit: int, *, has_more: bool = False) -> JsonObject:
    return page_of(
        [prompt_object(one) for one in found[:limit]], has_more=has_more or len(found) > limit
    )


def _encoded(template: PromptTemplate) -> bytes:
    """Return a template in its stored form.

    Raises `ClientError` (400) if it has credentials of other servers.
    """
    if carries_credentials(CreateResponse(model="", input="", **defaults_of(template))):
        text = (
            "The 'authorization' and 'headers' of 'mcp' tools are not stored. "
            "Send such tools in each request."
        )
        raise ClientError(text, code="unsupported_value", param="defaults.tools")
    return msgspec.json.encode(template)


def _full() -> ClientError:
    text = (
        f"This project has {MOST_VERSIONS:,} versions of prompts, which is the limit. "
        "Delete some prompts."
    )
    return ClientError(text, status=429, type="requests", code="prompts_limit_reached")
