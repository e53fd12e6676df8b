"""Lines of the log: whose they are, and what they never say."""

import json
import logging
import sys
from typing import Any

import pytest

from antiphon.errors import BackendError, ClientError, StoreError
from antiphon.telemetry.context import About, begin, note
from antiphon.telemetry.formatters import JsonLines, TextLines, fields


@pytest.fixture(autouse=True)
def for_no_one() -> None:
    begin(About())


def record(
    message: str = "It happened.", *args: object, name: str = "antiphon", **more: Any
) -> logging.LogRecord:
    created = logging.LogRecord(name, logging.WARNING, "", 0, message, args, None, **more)
    created.created = 1_700_000_000.25
    created.msecs = 250.0
    return created


def failed(error: Exception) -> logging.LogRecord:
    try:
        try:
            raise KeyError("canary")
        except KeyError as cause:
            raise error from cause
    except Exception:
        created = record()
        created.exc_info = sys.exc_info()
        return created


def test_a_line_of_text_names_the_request_that_it_is_about() -> None:
    begin(About("req_1"))
    note(response_id="resp_1", backend="groq")

    displayed = "2023-11-14T22:13:20.250Z WARNING antiphon: It happened. [req_1 resp_1 groq]"
    assert TextLines().format(record()) == displayed


def test_a_line_that_is_about_no_request_names_none() -> None:
    assert TextLines().format(record()) == "2023-11-14T22:13:20.250Z WARNING antiphon: It happened."


def test_a_line_of_json_has_the_known_fields_and_the_extra_ones() -> None:
    begin(About("req_1", "resp_1", "groq", trace_id="t"))
    created = record("%s took long", "It")
    created.__dict__.update(fields(status="200", ms=1.5))

    assert json.loads(JsonLines().format(created)) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "warning",
        "logger": "antiphon",
        "message": "It took long",
        "request_id": "req_1",
        "response_id": "resp_1",
        "backend": "groq",
        "trace_id": "t",
        "status": "200",
        "ms": 1.5,
    }


@pytest.mark.parametrize("form", [TextLines, JsonLines])
@pytest.mark.parametrize(
    "text", ["a\r\nINFO forged", "a\u2028b", "a\x1b[2Jb", "a\x00b", "a\ud800b"]
)
def test_a_log_message_stays_on_one_line(form: type[logging.Formatter], text: str) -> None:
    line = form().format(record("%s", text))

    assert line.splitlines() == [line]
    assert "\x1b" not in line
    line.encode()


@pytest.mark.parametrize("form", [TextLines, JsonLines])
def test_an_error_is_logged_by_type_and_location_without_values(
    form: type[logging.Formatter],
) -> None:
    line = form().format(failed(ValueError("canary")))

    assert line.index("KeyError") < line.index("ValueError")
    assert "unit/telemetry/test_formatters.py:" in line
    assert "in failed" in line
    assert "canary" not in line


@pytest.mark.parametrize("form", [TextLines, JsonLines])
def test_the_debug_log_has_the_message_of_an_error(form: Any) -> None:
    assert "ValueError: canary" in form(quotes=True).format(failed(ValueError("canary")))


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (StoreError("The store is busy."), "The store is busy."),
        (ClientError("No 'canary'."), "The request was rejected with status 400."),
        (BackendError("It said canary.", gist="It failed."), "It failed."),
        (KeyError("canary"), "KeyError"),
    ],
)
@pytest.mark.parametrize("form", [TextLines, JsonLines])
def test_only_the_gist_of_a_logged_error_is_reported(
    form: Any, error: Exception, reported: str
) -> None:
    line = form().format(record("%s: %s", "It stopped", error))

    assert f"It stopped: {reported}" in line
    assert "canary" not in line
    assert str(error) in form(quotes=True).format(record("%s: %s", "It stopped", error))


def test_an_error_with_itself_as_cause_is_reported_once() -> None:
    error = ValueError()
    error.__cause__ = error
    created = record()
    created.exc_info = (ValueError, error, None)

    assert TextLines().format(created).count("ValueError") == 1


def test_what_others_put_behind_their_first_line_is_left_out() -> None:
    line = TextLines().format(
        record("Task failed\nfuture: <Task exception=KeyError('canary')>", name="asyncio")
    )
    assert line.endswith("asyncio: Task failed")


@pytest.mark.parametrize("name", ["antiphon", "opentelemetry.exporter"])
@pytest.mark.parametrize("form", [TextLines, JsonLines])
def test_no_line_has_user_information_of_a_url(form: type[logging.Formatter], name: str) -> None:
    line = form().format(record("Cannot send to %s", "http://ada:s3/cr#3t@host/v1", name=name))
    assert "http://…" in line
    assert not any(word in line for word in ("ada", "s3", "3t"))
