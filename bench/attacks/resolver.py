"""A resolver of names for the server under attack: some names are never resolved, others are this
machine.
"""

import os
from pathlib import Path

HUNG = ".hung.example"
HERE = ".here.example"

_RESOLVER = f'''
"""Loaded by each Python process of the server: the DNS server of {HUNG} never answers, {HERE} is this machine."""
import socket, time
_system = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    if isinstance(name, str) and name.endswith("{HUNG}"):
        time.sleep(300)
    if isinstance(name, str) and name.endswith("{HERE}"):
        host = "127.0.0.1"
    return _system(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
'''  # noqa: E501 - the lines of a text


def write_resolver(folder: Path) -> str:
    """Write the resolver into a folder; return the `PYTHONPATH` with which a Python process loads
    it.
    """
    (folder / "sitecustomize.py").write_text(_RESOLVER)
    return f"{folder}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
