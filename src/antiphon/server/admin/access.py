"""Access to `/admin/v1`: roles, sessions, and how a request proves that it comes from the console.

A page of another site can make a browser send requests here, with the cookies of this server. So a
cookie counts only together with the header `antiphon-console`, which a form cannot send, and a page
of another site only if this server allows it by CORS. If the browser sends the origin of the page,
it must be this server's.

While no API key exists, programs on this machine need none, and are administrators. A website can
point its DNS name to this machine (DNS rebinding), so the `Host` of such a request must be an
address, or a name of this machine.
"""

from ipaddress import ip_address

from msgspec import Struct

from antiphon.errors import ClientError, StoreError
from antiphon.gateway import ApiKey, ConsoleSession, Gateway, Role, permit
from antiphon.server import limits
from antiphon.server.request import OPERATOR, REQUEST_FILE, TENANT, Credential, HttpRequest, name_of
from antiphon.server.watchers import is_forwarded, is_local
from antiphon.telemetry.context import note

HEADER = b"antiphon-console"
"""The header that the console's page sends with every request."""

COOKIE, SECURE_COOKIE = b"antiphon", b"__Host-antiphon"
"""The names of the session's cookie: on this machine without TLS, and everywhere else."""

SESSION = "antiphon.session"
"""The key in a scope under which a request has its session."""

ADVICE = (
    "This server has no API key, so only programs on its own machine may use the console. Open the "
    "link that `antiphon console` prints, or create a key with `antiphon keys create --role admin`."
)


class Viewer(Struct, frozen=True):
    """The caller of `/admin/v1`, `read` or `admin`.

    `key_id` and `name` are empty without an API key.
    """

    role: Role
    tenant: str = ""
    key_id: str = ""
    name: str = ""

    @property
    def is_admin(self) -> bool:
        """Whether it sees all tenants, and can make the changes of the console."""
        return self.role is Role.ADMIN

    def tenant_of(self, wanted: str | None) -> str | None:
        """Return the tenant of a list, None for all tenants. Raises `ClientError` (403).

        `wanted` is the parameter `tenant` of the query, None without one.
        """
        if self.is_admin:
            return wanted
        if wanted not in (None, self.tenant):
            raise lacks(Role.ADMIN, self.key_id, param="tenant")
        return self.tenant

    def own_tenant_of(self, wanted: str | None) -> str:
        """Return the tenant of one object, by default the caller's own. Raises `ClientError`
        (403).

        `wanted` is the parameter `tenant` of the query, None without one.
        """
        tenant = self.tenant_of(wanted)
        return self.tenant if tenant is None else tenant

    def check_admin(self) -> None:
        """Raise `ClientError` (403) unless the caller is an administrator."""
        if not self.is_admin:
            raise lacks(Role.ADMIN, self.key_id)


async def viewer(http: HttpRequest, gateway: Gateway) -> Viewer:
    """Return the caller. Its replies are never cached.

    Raises `ClientError`: 401 for a caller that did not sign in, 403 for a key that can only use the
    API, and for a remote caller while no key exists.
    """
    http.reply_headers.append((b"cache-control", b"no-store"))
    return await _caller(http, gateway)


async def is_still(caller: Viewer, http: HttpRequest, gateway: Gateway) -> bool:
    """Whether a long request still belongs to this caller: keys are revoked and changed, and
    sessions end.
    """
    has_session = http.scope.pop(SESSION, None) is not None
    try:
        if has_session and await find_session(http, gateway) is None:
            return False
        return await _caller(http, gateway) == caller
    except (ClientError, StoreError):
        return False


async def _caller(http: HttpRequest, gateway: Gateway) -> Viewer:
    key = await http.key()
    if key is not None:
        return _of_key(key)
    if TENANT in http.scope:
        raise ClientError(
            "The application in front of this server sets the tenant of its requests, and no role. "
            "The console accepts API keys and its own sessions only.",
            status=403,
            code="not_allowed",
        )
    if HEADER in http.headers and b"cookie" in http.headers:
        check_same_origin(http)
        session = await find_session(http, gateway)
        if session is not None and not session.key_digest:
            return Viewer(Role.ADMIN)
    if await gateway.known_keys.are_needed():
        raise not_signed_in()
    _check_here(http)
    return Viewer(Role.ADMIN)


async def identify_by_cookie(http: HttpRequest, gateway: Gateway) -> None:
    """Set the tenant and the credential of a request from its session.

    Raises `ClientError`: 401, 403.
    """
    check_same_origin(http)
    session = await find_session(http, gateway)
    if session is None:
        raise not_signed_in()
    if session.key_digest:
        http.credential = Credential(gateway, session.key_digest)
        key = await http.credential.key()
        http.tenant = http.incoming.tenant = _of_key(key).tenant
        note(api_key_id=key.id)
        if key.limits.models:
            permit(key.limits.models)
        if key.caches:
            http.uses_cache = True
    else:
        http.scope[OPERATOR] = True


async def find_session(http: HttpRequest, gateway: Gateway) -> ConsoleSession | None:
    """Return the session of a request's cookie, count this use, and store it in the scope; None
    without one.
    """
    found: ConsoleSession | None = http.scope.get(SESSION)
    if found is None and (token := _token(http)):
        found = http.scope[SESSION] = await gateway.sessions.find(token)
    return found


def check_same_origin(http: HttpRequest) -> None:
    """Raise `ClientError` (403) for a request from any other page than the console's, despite
    `allowed_origins`.
    """
    if HEADER not in http.headers:
        raise _foreign("Requests of the console have the header 'antiphon-console: 1'.")
    _check_page(http)


def is_encrypted(http: HttpRequest) -> bool:
    """Whether the browser connected by TLS, to this server or to a proxy in front.

    The connection itself shows it, or the `Origin` that the browser names, or the header
    `x-forwarded-proto` of a proxy. The answer only makes a cookie stricter (`Secure`), for the
    client that sent the request, so a lying client gains nothing: its own browser refuses the
    cookie.
    """
    forwarded = http.headers.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower()
    return (
        _has_tls(http)
        or forwarded == b"https"
        or http.headers.get(b"origin", b"").startswith(b"https://")
    )


def is_here(http: HttpRequest) -> bool:
    """Whether a program on this machine sent the request directly, to an address or a name of this
    machine.
    """
    scope = http.scope
    host = http.headers.get(b"host")
    return (
        not is_forwarded(scope["headers"])
        and is_local(scope)
        and (host is None or _is_unique(host))
    )


def not_signed_in() -> ClientError:
    """Return the error for a caller without a session."""
    text = (
        "You are not signed in, or your session has ended. Sign in with an API key, or with "
        "`antiphon console`."
    )
    return ClientError(text, status=401, code="not_signed_in", headers=REQUEST_FILE)


def lacks(role: Role, key_id: str, param: str | None = None) -> ClientError:
    """Return the error for a key that lacks a role."""
    command = f"antiphon keys update {key_id} --role {role.value}"
    text = (
        f"This needs an API key with the role `{role.value}`. "
        f"To give this key the role: `{command}`."
    )
    return ClientError(text, status=403, code="not_allowed", param=param)


def _of_key(key: ApiKey) -> Viewer:
    if not key.role.includes(Role.READ):
        raise lacks(Role.READ, key.id)
    return Viewer(key.role, key.tenant, key.id, key.name)


def _token(http: HttpRequest) -> bytes:
    """Return the token in a request's cookie, empty without one.

    With TLS only the cookie with the prefix counts: a server without TLS at the same name can set
    no such cookie.
    """
    pairs = [part.strip().partition(b"=") for part in http.headers.get(b"cookie", b"").split(b";")]
    cookies = {name: value for name, _, value in reversed(pairs)}
    return cookies.get(SECURE_COOKIE) or (b"" if is_encrypted(http) else cookies.get(COOKIE, b""))


def _has_tls(http: HttpRequest) -> bool:
    return http.scope.get("scheme") in ("https", "wss")


def _check_page(http: HttpRequest) -> None:
    """Raise `ClientError` (403) if the browser reports that another site's page sent the
    request.
    """
    headers = http.headers
    if headers.get(b"sec-fetch-site", b"same-origin") != b"same-origin":
        raise _foreign("Another site sent this request.")
    scheme, _, host = headers.get(b"origin", b"").partition(b"://")
    if b"origin" in headers and (
        host != headers.get(b"host") or (_has_tls(http) and scheme != b"https")
    ):
        raise _foreign(
            "The origin of this page is not this server's. A proxy in front must pass on the "
            "header Host."
        )


def _foreign(why: str) -> ClientError:
    text = f"{why} The console accepts requests of its own pages only."
    return ClientError(text, status=403, code="origin_not_allowed")


def _check_here(http: HttpRequest) -> None:
    """Raise `ClientError` (403) unless a program of this machine sent the request, or the console's
    page on it.
    """
    if not is_here(http):
        raise ClientError(ADVICE, status=403, code="not_allowed")
    _check_page(http)


def _is_unique(host: bytes) -> bool:
    """Whether a `Host` header is an address, or a name of this machine that no public DNS
    resolves.
    """
    name = name_of(host)
    try:
        return limits.is_local(name) or bool(ip_address(name))
    except ValueError:
        return False
