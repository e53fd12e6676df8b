"""What is shown to programs of this machine alone."""

from ipaddress import ip_address

from antiphon.server.reply import Scope

FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"}
"""Headers by which a proxy on this machine says that it asks for somebody else."""


def is_local(scope: Scope) -> bool:
    """Whether a program of this machine asks, for itself. On a Unix socket there is no address: the file guards it."""
    if any(name in FORWARDED for name, _ in scope["headers"]):
        return False
    client, server = scope.get("client"), scope.get("server")
    if client and server and client[0] == server[0]:
        return True  # an address of this machine's own, that others reach it by
    try:
        return not client or ip_address(client[0].removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False
