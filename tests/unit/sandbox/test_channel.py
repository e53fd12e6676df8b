"""The server's end of the socket: whatever a machine sends, it is a reply or the end of the
machine.
"""

import asyncio
import base64
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.sandbox.channel import CodeReply, CommandReply, KernelChannel
from antiphon.sandbox.contract import SandboxError

Pair = tuple[KernelChannel, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    channel = KernelChannel(ours)
    yield channel, theirs
    channel.close()
    theirs.close()


async def answered(
    pair: Pair, answer: Callable[[str], bytes], kind: type[CodeReply] = CodeReply
) -> CodeReply:
    """The reply that the server sees if the machine answers a call so."""
    channel, theirs = pair

    def reply() -> None:
        with theirs.makefile("rb") as calls:
            nonce = json.loads(calls.readline())["nonce"]
        theirs.sendall(answer(nonce))

    answering: Awaitable[None] = asyncio.to_thread(reply)
    called, _ = await asyncio.gather(
        channel.call(kind, code="1"), answering, return_exceptions=True
    )
    if isinstance(called, BaseException):
        raise called
    assert isinstance(called, kind)
    return called


async def test_a_reply_is_read_without_what_it_should_not_have(pair: Pair) -> None:
    def answer(nonce: str) -> bytes:
        return (
            json.dumps(
                {"nonce": nonce, "value": "1", "figures": ["bm8="], "x": {"y": [1]}}
            ).encode()
            + b"\n"
        )

    reply = await answered(pair, answer)
    assert (reply.value, reply.figures, reply.images()) == ("1", [b"no"], [])


@given(junk=st.binary(max_size=300))
async def test_anything_else_loses_the_machine(junk: bytes) -> None:
    ours, theirs = socket.socketpair()
    channel = KernelChannel(ours)
    theirs.sendall(junk)
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(SandboxError, match="lost"):
        await channel.call(CodeReply, code="1")
    channel.close()
    theirs.close()


@pytest.mark.parametrize("code", [256, -1, 10**30, 1.5, "1", True])
async def test_an_exit_code_is_a_small_number(pair: Pair, code: object) -> None:
    def answer(nonce: str) -> bytes:
        return json.dumps({"nonce": nonce, "exit_code": code}).encode() + b"\n"

    with pytest.raises(SandboxError, match="invalid"):
        await answered(pair, answer, CommandReply)  # type: ignore[arg-type]


async def test_too_few_files_are_closed(pair: Pair) -> None:
    channel, theirs = pair
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    file = os.open("/", os.O_RDONLY)
    socket.send_fds(theirs, [b"\n"], [file])
    os.close(file)
    with pytest.raises(SandboxError, match="before its kernel was ready"):
        await channel.files(2)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize(
    "many",
    [
        b'"x":[' + b"[]," * 40_000 + b"[]]",
        b'"figures":[' + b'"",' * 40_000 + b'""]',
        b'"x":[' + b"1," * 60_000 + b"1]",
    ],
)
async def test_a_reply_of_many_values_is_refused_before_they_are_created(
    pair: Pair, many: bytes
) -> None:
    with pytest.raises(SandboxError, match="invalid"):
        await answered(pair, lambda nonce: b'{"nonce":"%s",%s}\n' % (nonce.encode(), many))


async def test_a_large_reply_is_read_as_a_small_one_is(pair: Pair) -> None:
    image = b"\x89PNG\r\n\x1a\n" + b"x" * 1_000_000

    def answer(nonce: str) -> bytes:
        figures = [base64.b64encode(image).decode()] * 2
        return json.dumps({"nonce": nonce, "value": '1"\\é', "figures": figures}).encode() + b"\n"

    reply = await answered(pair, answer)
    assert (reply.value, reply.images()) == ('1"\\é', [image, image])
