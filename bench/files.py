"""How quickly a file is uploaded, and what the server holds of it meanwhile."""

import os
import socket
import time
from collections.abc import Iterator

from bench.forms import CONTENT_TYPE, TAIL, head
from bench.process import cpu_of_all, peak_memory_of_all
from bench.report import OURS, Reading
from bench.server import RunningServer

SIZE = 256
"""Megabytes (of 1,048,576 bytes) of the file."""

_BLOCK = os.urandom(1024 * 1024)
_HEAD = head("user_data", "bench.bin")


def uploads(store: str, server: RunningServer, size: int = SIZE) -> Iterator[Reading]:
    """Upload a file over one connection, first a small one, so that nothing is loaded in the time
    that counts.
    """
    upload(server.port, 1)
    before = peak_memory_of_all(server.pid)
    used = cpu_of_all(server.pid)
    began = time.perf_counter()
    upload(server.port, size)
    took = time.perf_counter() - began
    used = cpu_of_all(server.pid) - used
    million = size * len(_BLOCK) / 1e6
    yield f"upload of {size} MB, {store}, MB/s", OURS, million / took
    yield f"upload of {size} MB, {store}, MB per CPU second", OURS, million / used
    growth = (peak_memory_of_all(server.pid) - before) / 1e6
    yield f"memory that an upload of {size} MB adds, {store}, MB", OURS, growth


def upload(port: int, size: int) -> None:
    """Send a file of so many megabytes.

    Raises `RuntimeError` where the server does not store it.
    """
    length = len(_HEAD) + size * len(_BLOCK) + len(TAIL)
    head = (
        f"POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {CONTENT_TYPE}\r\n"
        f"content-length: {length}\r\nconnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + _HEAD)
        for _ in range(size):
            connection.sendall(_BLOCK)
        connection.sendall(TAIL)
        answer = connection.recv(65_536)
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the upload was answered with {answer[:200]!r}")
