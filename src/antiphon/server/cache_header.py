"""The header `antiphon-cache`: what a request says of the cache."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from antiphon.protocol.json import decode_object
from antiphon.protocol.requests import CacheParam, CreateResponse, Extensions
from antiphon.protocol.validation.refusals import invalid_value
from antiphon.server.reply import CACHE
from antiphon.server.request import HttpRequest

HEADER = CACHE.encode()

_Wish = bool | CacheParam | None

SAID: Mapping[str, Callable[[_Wish], _Wish]] = {
    "on": lambda wish: wish or True,
    "off": lambda wish: False,
    "refresh": lambda wish: CacheParam(ttl=wish.ttl if isinstance(wish, CacheParam) else None, refresh=True),
}
"""What each value of the header makes of what the body says."""


def with_cache(http: HttpRequest, request: CreateResponse) -> CreateResponse:
    """Return the request with what is wished of the cache: in its header, else in its body, else by whose it is.

    Raises `ClientError` (400) for a header with another value.
    """
    said = http.headers.get(HEADER)
    if said is None and request.antiphon is None and http.uses_cache is None:
        return request
    given = request.antiphon or Extensions()
    if said is None:
        wish = given.cache if given.cache is not None else _usual(http, request)
    else:
        value = said.decode("latin-1").strip().lower()
        if value not in SAID:
            raise invalid_value(CACHE, value, SAID)
        wish = SAID[value](given.cache)
    return request if wish is given.cache else replace(request, antiphon=replace(given, cache=wish))


def _usual(http: HttpRequest, request: CreateResponse) -> bool | None:
    """Return what whose request it is wishes of all; of what is not stored nothing is kept unasked."""
    wish = http.uses_cache
    return None if wish and request.store is False else wish


def body_with_cache(body: bytes, before: CreateResponse, after: CreateResponse) -> bytes:
    """Return a request's body as it is kept for who works on it later and does not see its headers."""
    return body if after is before else msgspec.json.encode({**decode_object(body), "antiphon": after.antiphon})
