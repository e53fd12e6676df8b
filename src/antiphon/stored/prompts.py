"""Prompts (specification of hosted tools, section 9): the operations on them. Prompts in the settings are read-only."""

from typing import Any

import msgspec
from msgspec.structs import asdict

from antiphon.access.credentials import carries_credentials
from antiphon.errors import ClientError
from antiphon.history.prompted import as_stored, find_prompt, template_of, unknown_prompt
from antiphon.protocol.prompts import NewPromptVersion, PromptsQuery, PromptTemplate, defaults_of
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.templates import variables_of
from antiphon.protocol.validation import refusals
from antiphon.storage.operations import prompts
from antiphon.storage.records.prompts import PromptPage, PromptQuery, StoredPrompt
from antiphon.stored.parts import ObjectParts

MOST_VERSIONS = 10_000
"""Maximum number of versions of all prompts of a tenant."""


async def create(parts: ObjectParts, tenant: str, template: PromptTemplate) -> dict[str, Any]:
    """Create a prompt with its first version. Raises `ClientError`: 400, 429 if the tenant has no room."""
    body = _encoded(template)
    with await parts.quota.reserve(tenant, len(body)):
        prompt_id, now = parts.new_id("pmpt"), int(parts.now())
        stored = await parts.store.write(prompts.create, tenant, prompt_id, body, now, MOST_VERSIONS)
    if stored is None:
        raise _full()
    return shown_prompt(stored)


async def add_version(parts: ObjectParts, tenant: str, prompt_id: str, request: NewPromptVersion) -> dict[str, Any]:
    """Add a version to a prompt; return it. Raises `ClientError`: 400, 404, 429 if the tenant has no room."""
    _check_stored(parts, prompt_id)
    fields = asdict(request)
    is_default = fields.pop("set_as_default")
    if request.name is None:
        fields["name"] = template_of(await find_prompt(parts, tenant, prompt_id)).name
    body = _encoded(PromptTemplate(**fields))
    with await parts.quota.reserve(tenant, len(body)):
        stored = await parts.store.write(
            prompts.add_version, tenant, prompt_id, body, int(parts.now()), MOST_VERSIONS, is_default=is_default
        )
    if stored is None:
        await find_prompt(parts, tenant, prompt_id)
        raise _full()
    return shown_prompt(stored)


async def retrieve(parts: ObjectParts, tenant: str, prompt_id: str, version: str | None) -> dict[str, Any]:
    """Return a version of a prompt, by default its default version. Raises `ClientError` (404)."""
    return shown_prompt(await find_prompt(parts, tenant, prompt_id, version))


async def list_prompts(parts: ObjectParts, tenant: str, query: PromptsQuery) -> dict[str, Any]:
    """Return a page of the prompts. Those in the settings are the oldest. Raises `ClientError` (400)."""
    named = [as_stored(*one) for one in sorted(parts.named_prompts.items())]
    ids = [one.id for one in named]
    if query.order == "desc":
        named.reverse()
        if query.after in ids[::-1]:
            return _page(named[ids[::-1].index(str(query.after)) + 1 :], query.limit)
        page = await _stored_page(parts, tenant, query)
        return _page([*page.prompts, *([] if page.has_more else named)], query.limit, has_more=page.has_more)
    if query.after is None or query.after in ids:
        first = named[ids.index(query.after) + 1 if query.after else 0 :]
        page = await parts.store.read(prompts.page, tenant, PromptQuery(query.limit, None, descending=False))
        return _page([*first, *page.prompts], query.limit, has_more=page.has_more)
    page = await _stored_page(parts, tenant, query)
    return _page(page.prompts, query.limit, has_more=page.has_more)


async def list_versions(parts: ObjectParts, tenant: str, prompt_id: str, query: PromptsQuery) -> dict[str, Any]:
    """Return a page of a prompt's versions. Raises `ClientError`: 404, 400 if `after` is not in the list."""
    if (named := parts.named_prompts.get(prompt_id)) is not None:
        return _page([] if query.after == str(named.version) else [as_stored(prompt_id, named)], query.limit)
    page = await parts.store.read(prompts.versions, tenant, prompt_id, _query(query))
    if page is None:
        raise unknown_prompt(prompt_id)
    if page.is_unknown:
        raise refusals.invalid("after", f"the prompt has no version '{refusals.shown(query.after)}'.")
    shown = _page(page.prompts, query.limit, has_more=page.has_more)
    numbers = [str(one.version) for one in page.prompts]
    return shown | {"first_id": numbers[0] if numbers else None, "last_id": numbers[-1] if numbers else None}


async def set_default(parts: ObjectParts, tenant: str, prompt_id: str, version: int) -> dict[str, Any]:
    """Make a version the default; return it. Raises `ClientError`: 400 for a prompt in the settings, 404."""
    _check_stored(parts, prompt_id)
    stored = await parts.store.write(prompts.set_default, tenant, prompt_id, version)
    if stored is None:
        await find_prompt(parts, tenant, prompt_id)
        raise unknown_prompt(prompt_id, str(version))
    return shown_prompt(stored)


async def delete(parts: ObjectParts, tenant: str, prompt_id: str) -> dict[str, Any]:
    """Delete a prompt with all its versions. Raises `ClientError`: 400 for a prompt in the settings, 404."""
    _check_stored(parts, prompt_id)
    if not await parts.store.write(prompts.delete, tenant, prompt_id):
        raise unknown_prompt(prompt_id)
    return {"id": prompt_id, "object": "prompt.deleted", "deleted": True}


def shown_prompt(stored: StoredPrompt) -> dict[str, Any]:
    """Return a version of a prompt as an API object."""
    template = template_of(stored)
    said: dict[str, Any] = msgspec.to_builtins(template)
    return {
        "id": stored.id,
        "object": "prompt",
        "created_at": stored.created_at,
        "name": template.name,
        "version": stored.version,
        "is_default": stored.is_default,
        "variables": variables_of(template),
        "instructions": template.instructions,
        "messages": said.get("messages", []),
        "model": template.model,
        "defaults": said.get("defaults", {}),
    }


async def _stored_page(parts: ObjectParts, tenant: str, query: PromptsQuery) -> PromptPage:
    page = await parts.store.read(prompts.page, tenant, _query(query))
    if page.is_unknown:
        raise refusals.invalid("after", f"no prompt has the id '{refusals.shown(query.after)}'.")
    return page


def _query(query: PromptsQuery) -> PromptQuery:
    return PromptQuery(query.limit, query.after, query.order == "desc")


def _page(found: Any, limit: int, *, has_more: bool = False) -> dict[str, Any]:
    data = [shown_prompt(one) for one in found[:limit]]
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": has_more or len(found) > limit,
    }


def _encoded(template: PromptTemplate) -> bytes:
    """Return a template in its stored form. Raises `ClientError` (400) if it has credentials of other servers."""
    if carries_credentials(CreateResponse(model="", input="", **defaults_of(template))):
        text = "The 'authorization' and 'headers' of 'mcp' tools are not stored. Send such tools in each request."
        raise ClientError(text, code="unsupported_value", param="defaults.tools")
    return msgspec.json.encode(template)


def _check_stored(parts: ObjectParts, prompt_id: str) -> None:
    if prompt_id in parts.named_prompts:
        text = f"The prompt '{prompt_id}' is defined in the settings of this server. Change it there."
        raise ClientError(text, code="read_only_prompt")


def _full() -> ClientError:
    text = f"This project has {MOST_VERSIONS:,} versions of prompts, which is the limit. Delete some prompts."
    return ClientError(text, status=429, type="requests", code="prompts_limit_reached")
