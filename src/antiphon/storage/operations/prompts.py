"""Operations on prompts and their versions."""

from antiphon.storage.operations.lists import part
from antiphon.storage.operations.step import SHIFT, Operation, Row, first, query_rows, reads, writes
from antiphon.storage.records.pages import ListQuery, Page
from antiphon.storage.records.prompts import StoredPrompt

FIRST = 1
"""The number of a prompt's first version."""

LONGEST = 9
"""Maximum number of digits of a version number."""


@writes("create_prompt")
def create(
    tenant: str, prompt_id: str, template: bytes, created_at: int, most: int
) -> Operation[StoredPrompt | None]:
    """Store a new prompt with its version 1, the default; return None if the tenant already has
    `most` versions.
    """
    created_at += yield SHIFT
    if (yield from _is_full(tenant, most)):
        return None
    ((seq,),) = yield from query_rows("put_prompt", prompt_id, tenant, FIRST)
    yield from query_rows("put_prompt_version", seq, tenant, FIRST, created_at, template)
    return StoredPrompt(prompt_id, tenant, FIRST, True, created_at, template)


@writes("add_prompt_version")
def add_version(
    tenant: str, prompt_id: str, template: bytes, created_at: int, most: int, *, is_default: bool
) -> Operation[StoredPrompt | None]:
    """Store the next version of a prompt, and make it the default if `is_default`.

    Return None if the prompt is unknown, or the tenant already has `most` versions.
    """
    created_at += yield SHIFT
    row = yield from first("lock_prompt", prompt_id, tenant)
    if row is None or (yield from _is_full(tenant, most)):
        return None
    seq, newest, default = row
    version = newest + 1
    yield from query_rows("put_prompt_version", seq, tenant, version, created_at, template)
    yield from query_rows("update_prompt", seq, version, version if is_default else default)
    return StoredPrompt(prompt_id, tenant, version, is_default, created_at, template)


@reads("find_prompt")
def find(tenant: str, prompt_id: str, version: int | None = None) -> Operation[StoredPrompt | None]:
    """Return one version of a prompt, by default its default version, or None if it is unknown."""
    row = yield from first("find_prompt", prompt_id, tenant, version)
    return _prompt(row) if row else None


@reads("prompt_page")
def page(tenant: str, query: ListQuery) -> Operation[Page[StoredPrompt]]:
    """Return one page of the tenant's prompts, each in its default version."""
    places: dict[str, int] = {}
    if query.after is not None:
        row = yield from first("prompt_place", query.after, tenant)
        if row is None:
            return Page(unknown="after")
        places["after"] = row[0]
    rows, has_more = yield from part("prompts", (tenant,), (), query, places)
    return Page(tuple(map(_prompt, rows)), has_more)


@reads("prompt_versions")
def versions(tenant: str, prompt_id: str, query: ListQuery) -> Operation[Page[StoredPrompt] | None]:
    """Return one page of the versions of a prompt, or None if it is unknown."""
    row = yield from first("prompt_place", prompt_id, tenant)
    if row is None:
        return None
    seq, newest, _ = row
    places: dict[str, int] = {}
    if query.after is not None:
        number = int(query.after) if query.after.isdecimal() and len(query.after) <= LONGEST else 0
        if not FIRST <= number <= newest:
            return Page(unknown="after")
        places["after"] = number
    rows, has_more = yield from part("prompt_versions", (seq,), (), query, places)
    return Page(tuple(map(_prompt, rows)), has_more)


@writes("set_default_version")
def set_default(tenant: str, prompt_id: str, version: int) -> Operation[StoredPrompt | None]:
    """Make a version the default of its prompt and return it, or None if it is unknown."""
    row = yield from first("lock_prompt", prompt_id, tenant)
    if row is None or not FIRST <= version <= row[1]:
        return None
    yield from query_rows("update_prompt", row[0], row[1], version)
    return (yield from find(tenant, prompt_id, version))


@writes("delete_prompt", frees=True)
def delete(tenant: str, prompt_id: str) -> Operation[bool]:
    """Delete a prompt with all its versions; return False if it is unknown."""
    return bool((yield from query_rows("delete_prompt", prompt_id, tenant)))


def _is_full(tenant: str, most: int) -> Operation[bool]:
    yield from query_rows("lock_versions_of", tenant)
    ((count,),) = yield from query_rows("count_prompt_versions", tenant)
    return int(count) >= most


def _prompt(row: Row) -> StoredPrompt:
    prompt_id, tenant, version, default, created_at, template = row[:6]
    return StoredPrompt(prompt_id, tenant, version, version == default, created_at, bytes(template))
