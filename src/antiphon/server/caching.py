"""The header `antiphon-cache`: what a request says of the cache, and what its reply says."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace
from starlette.types import Scope

from antiphon.engine.run import Run
from antiphon.protocol.json import decode_object
from antiphon.protocol.refusals import invalid_value
from antiphon.protocol.requests import CacheParam, CreateResponse, Extensions
from antiphon.store.base import ApiKey

HEADER = "antiphon-cache"

_Wish = bool | CacheParam | None

SAID: Mapping[str, Callable[[_Wish], _Wish]] = {
    "on": lambda wish: wish or True,
    "off": lambda wish: False,
    "refresh": lambda wish: CacheParam(ttl=wish.ttl if isinstance(wish, CacheParam) else None, refresh=True),
}
"""What each value of the header makes of what the body says."""


def with_cache(scope: Scope, request: CreateResponse) -> CreateResponse:
    """Return the request with what its header says of the cache. Raises `ClientError` (400) for another value."""
    said = dict(scope["headers"]).get(HEADER.encode())
    if said is None:
        return request
    value = said.decode("latin-1").strip().lower()
    if value not in SAID:
        raise invalid_value(HEADER, value, SAID)
    given = request.antiphon or Extensions()
    return replace(request, antiphon=replace(given, cache=SAID[value](given.cache)))


def with_keys_cache(key: ApiKey | None, request: CreateResponse) -> CreateResponse:
    """Return the request with what its key says of the cache, where it says nothing itself."""
    given = request.antiphon or Extensions()
    if key is None or not key.caches or given.cache is not None:
        return request
    return replace(request, antiphon=replace(given, cache=True))


def body_with_cache(body: bytes, before: CreateResponse, after: CreateResponse) -> bytes:
    """Return a request's body as it is kept for who works on it later and does not see its headers."""
    return body if after is before else msgspec.json.encode({**decode_object(body), "antiphon": after.antiphon})


def cache_header(run: Run) -> dict[str, str]:
    """Return the header that says what the cache was to a response, as far as that is known."""
    similarity = f"{run.similarity:.3f}" if run.similarity else ""
    said = {HEADER: str(run.cache or ""), f"{HEADER}-similarity": similarity}
    return {name: value for name, value in said.items() if value}
