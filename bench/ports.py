"""Ports for servers that cannot choose one themselves."""

import random
import socket

FIRST, LAST = 15_000, 32_000
"""Below the ports that Linux gives to sockets without one: no other program takes it before the
server listens.
"""
TRIES = 1000

_random = random.SystemRandom()
"""Not seeded: several processes can ask at the same time."""


def free_port() -> int:
    """Return a port that is free now. Raises `OSError` if none is found."""
    for _ in range(TRIES):
        port = _random.randrange(FIRST, LAST)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"No port from {FIRST} to {LAST} is free.")
