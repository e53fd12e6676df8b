"""The page of errors lists every code with its status and type, as the source makes them."""

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from openai.types.responses.response_steer_error_code import ResponseSteerErrorCode

import antiphon
from antiphon.access.limits import refusal
from antiphon.errors import AntiphonError, BackendError, ClientError, StoreError
from antiphon.protocol.chat import KNOWN_CODES
from antiphon.protocol.validation import refusals
from antiphon.server.websocket.steering import MESSAGES
from antiphon.storage.records.tenants import BucketState, KeyLimits
from tests.support.pages import table

Created = tuple[int, str, str]
"""Status, type and code; an error without a code has `null`."""

PACKAGE = Path(antiphon.__file__).parent
ERRORS = {kind.__name__: kind for kind in (AntiphonError, BackendError, ClientError, StoreError)}
FIXED_CODES = {"BackendError": "server_error", "StoreError": "server_error"}


def listed() -> set[Created]:
    client = table("errors", "Code", "Status", "Cause", "What to do")
    others = table("errors", "Code", "Status", "Type", "Cause", "What to do")
    rows = [(status, "invalid_request_error", code) for code, status, _, _ in client]
    rows += [(status, kind, code) for code, status, kind, _, _ in others]
    return {
        (int(status), kind, code)
        for statuses, kind, code in rows
        for status in statuses.split(", ")
    }


def calls() -> Iterator[tuple[str, dict[str, ast.expr], list[ast.expr]]]:
    """Every call in the package by its function's last name, except the commands: they send no
    replies.
    """
    for path in PACKAGE.rglob("*.py"):
        if not path.is_relative_to(PACKAGE / "cli"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    name = ast.unparse(node.func).rpartition(".")[2]
                    yield (
                        name,
                        {word.arg: word.value for word in node.keywords if word.arg},
                        node.args,
                    )


def constant(provided: dict[str, ast.expr], name: str, default: object) -> object:
    """The argument's value; None if it is computed."""
    if name not in provided:
        return default
    return node.value if isinstance(node := provided[name], ast.Constant) else None


def written() -> set[Created]:
    """The errors in the source with constant codes."""
    created = set()
    for name, provided, args in calls():
        if kind := ERRORS.get(name):
            found = (
                constant(provided, "status", kind.status),
                constant(provided, "type", kind.type),
                constant(provided, "code", FIXED_CODES.get(name, "null")),
            )
            if None not in found:
                created.add(found)
        elif name == "invalid" and len(args) > 2 and isinstance(args[2], ast.Constant):
            created.add((400, "invalid_request_error", args[2].value))
    return created


def worked_out() -> set[Created]:
    """The errors with codes that depend on the type of the value."""
    bounds = product(("integer", "decimal"), ("below", "above"))
    errors = [refusals.number_out_of_range("p", kind, side, 0, 0) for kind, side in bounds]
    errors += [make("p", *rest) for kind in ("string", "array") for make, *rest in _too_many(kind)]
    errors += [
        refusals.too_many_properties("p", 1, 2),
        refusals.invalid("p", ""),
        refusals.invalid_type("p", ["x"], 1),
    ]
    limits = (KeyLimits(requests_per_minute=1), KeyLimits(tokens_per_minute=1))
    errors += [refusal(one, BucketState(False, 60, 60, 0), 1, 0) for one in limits]
    created: list[AntiphonError] = [*errors, AntiphonError.overloaded("")]
    return {(error.status, error.type, str(error.code)) for error in created}


def _too_many(kind: str) -> Iterator[tuple]:
    yield refusals.too_long, kind, 1, 2
    yield refusals.empty, kind


@pytest.mark.wide
def test_every_error_that_the_source_makes_has_its_row_and_every_row_its_error() -> None:
    created = written() | worked_out() | {(400, "invalid_request_error", "context_length_exceeded")}
    assert listed() - created == set(), "remove these rows of docs/reference/errors.md"
    assert created - listed() == set(), "add a row for each to docs/reference/errors.md"


def test_every_code_that_a_stream_distinguishes_has_its_row() -> None:
    rows = {code for code, _ in table("errors", "Code", "Meaning")}
    assert rows == KNOWN_CODES | {"server_error"}


def test_every_code_of_a_steer_has_its_row() -> None:
    known, _ = get_args(ResponseSteerErrorCode)
    rows = {code for code, _ in table("errors", "Code of a steer", "Cause")}
    assert (
        rows
        == set(get_args(known))
        == MESSAGES.keys() | {"invalid_input", "successor_creation_failed"}
    )
