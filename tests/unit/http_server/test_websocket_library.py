"""The names of the library for WebSockets that the code uses: public ones, in each version that is
allowed.

`make test-versions` runs it with the lowest and the newest.
"""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from websockets.frames import Frame, Opcode

from antiphon.http_server.late_inflation import LARGEST, LateInflationFactory

SOURCE = Path(__file__).parents[3] / "src/antiphon"


def imported() -> Iterator[tuple[str, str]]:
    """Each module of the library with a name that is imported from it."""
    for path in sorted((SOURCE / "http_server").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("websockets"):
                yield from ((str(node.module), alias.name) for alias in node.names)


def test_the_code_uses_the_library() -> None:
    assert ("websockets.server", "ServerProtocol") in {*imported()}


@pytest.mark.parametrize(("module", "name"), [*imported()])
def test_each_name_that_is_imported_is_public(module: str, name: str) -> None:
    assert name in import_module(module).__all__


@pytest.mark.parametrize("starts_again", [False, True])
def test_a_message_that_is_compressed_by_the_library_is_inflated(starts_again: bool) -> None:
    offered = [("client_max_window_bits", None)] + [
        ("client_no_context_takeover", None)
    ] * starts_again
    agreed, extension = LateInflationFactory().process_request_params(offered, [])
    assert ("client_max_window_bits", "12") in agreed

    for text in (b"Good morning, Dover. " * 100, b"Good night, Dover. " * 100):
        _, sender = LateInflationFactory().process_request_params(
            [("server_max_window_bits", "12")], []
        )
        sent = sender.encode(Frame(Opcode.TEXT, text))
        received = extension.decode(sent)
        assert (sent.rsv1, received.rsv1, extension.is_compressed) == (True, False, True)
        assert received.data == sent.data != text
        assert b"".join(extension.inflated([bytes(received.data)])) == text


def test_a_large_message_is_sent_as_it_is_and_the_next_one_is_compressed() -> None:
    """Compressing 1 MB of an image in one call would hold the event loop for 40 ms."""
    _, sender = LateInflationFactory().process_request_params(
        [("client_max_window_bits", None)], []
    )
    _, receiver = LateInflationFactory().process_request_params(
        [("client_max_window_bits", None)], []
    )
    texts = [
        b"Good morning, Dover. " * 100,
        b"x" * (LARGEST + 1),
        b"Good night, Dover. " * 100,
        b"y" * LARGEST,
    ]

    for text, is_compressed in zip(texts, (True, False, True, True), strict=True):
        sent = sender.encode(Frame(Opcode.TEXT, text))
        received = receiver.decode(sent)
        assert (sent.rsv1, receiver.is_compressed) == (is_compressed, is_compressed)
        data = bytes(received.data)
        assert (b"".join(receiver.inflated([data])) if is_compressed else data) == text
