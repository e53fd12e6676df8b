"""Errors in the words and with the paths of the Messages API: `messages.3.content.0.type: Field
required`.

Clients search the message of an error, so the sentences that they know are the contract; others are
ours.
"""

import re
from collections.abc import Callable

from antiphon.errors import ClientError
from antiphon.protocol.validation.refusals import quoted

_INDEX = re.compile(r"\[(\d+)\]")
_OPENING = re.compile(r"^(?:Invalid type for '[^']*': |Invalid '[^']*': |Invalid value: )")
_EXPECTED = re.compile(r"expected (.+), but got .+ instead\.$", re.DOTALL)
_ARTICLE = re.compile(r"^an? ")
_BOUND = re.compile(r"Expected a value (>=|<=) (\S+), but got ")
_NEVER_JSON = "We could not parse the JSON body of your request: "

_SENTENCES = {
    "missing_required_parameter": "Field required",
    "unknown_parameter": "Extra inputs are not permitted",
}
FAILED = "Error:"
"""The first line of a failed call's output that does not mention an error: the Responses API has no
field for that.
"""

_COMPARED = {">=": "greater than or equal to", "<=": "less than or equal to"}


def refusal(path: str, words: str, code: str | None = "invalid_value") -> ClientError:
    """Return the error for the place in the request: 400, `path: words`; an empty path is the whole
    request.
    """
    return ClientError(f"{path}: {words}" if path else words, code=code, param=path or None)


def field_required(path: str) -> ClientError:
    """A required field is absent."""
    return refusal(path, "Field required", "missing_required_parameter")


def extra_input(path: str) -> ClientError:
    """The parameter does not exist, or its value cannot be applied here."""
    return refusal(path, "Extra inputs are not permitted", "unknown_parameter")


def not_supported(path: str, value: object, more: str = "") -> ClientError:
    """This server does not support the value."""
    return refusal(
        path,
        f"'{quoted(value)}' is not supported here.{f' {more}' if more else ''}",
        "unsupported_value",
    )


def block_path(message: int, block: int) -> str:
    """Return the path of a block, as errors and `input_transformations` name it."""
    return f"messages.{message}.content.{block}"


def dotted(path: str) -> str:
    """Return a path such as `messages[0].content` with dots: `messages.0.content`."""
    return _INDEX.sub(r".\1", path).removeprefix(".")


def without_place(message: str) -> str:
    """Return the message of an error without the place with which those of the Responses API
    begin.
    """
    return _OPENING.sub("", message)


def reworded(error: ClientError, rename: Callable[[str], str] = dotted) -> ClientError:
    """Return an error of the Responses API's checks in the words of the Messages API.

    `rename` returns the place in the client's own request for the place that the error names.
    """
    path = rename(error.param) if error.param else ""
    words = _SENTENCES.get(error.code or "") or _reworded(error.message, path)
    if not path:
        words = words.replace(_NEVER_JSON, "The request body is not valid JSON: ")
    message = f"{path}: {words}" if path else words
    return ClientError(
        message, status=error.status, code=error.code, param=path or None, headers=error.headers
    )


def _reworded(message: str, path: str) -> str:
    words = without_place(message)
    if expected := _EXPECTED.search(words):
        return f"Input should be {_ARTICLE.sub('a valid ', expected[1])}"
    if bound := _BOUND.search(words):
        return f"Input should be {_COMPARED[bound[1]]} {bound[2]}"
    if path.endswith(".type") and message.startswith("Invalid value: "):
        value, _, supported = words.partition(". Supported values are: ")
        return f"{value} is not supported here. Supported values are: {supported}"
    if message.startswith("Invalid value: "):
        supported = words.partition("Supported values are: ")[2].removesuffix(".")
        return f"Input should be {supported.replace(', and ', ' or ').replace(' and ', ' or ')}"
    return words
