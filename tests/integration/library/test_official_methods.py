"""The clients have the methods and the parameters of the official SDK; each difference has a
reason.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from antiphon import Antiphon, AsyncAntiphon

RESOURCES = (
    "responses",
    "conversations",
    "models",
    "files",
    "vector_stores",
    "containers",
    "embeddings",
    "images",
)

VIEWS = {"with_raw_response", "with_streaming_response"}
"""Views of a resource that return HTTP replies: calls inside a program have none."""

OF_HTTP = {"extra_query", "extra_body"}
"""Options of every call there. Here `extra_body` is where a backend accepts parameters that the API
does not have.
"""

ONE_BY_ONE = "files are uploaded one after the other: inside a program there is no latency to hide"
NO_FINE_TUNING = "no backend has fine-tuned models; the API answers 403"
UNSUPPORTED = "the server rejects the parameter by name"
NOT_HERE = "this server has no such processing: a file is ready when it is created"
TIMEOUT = "`asyncio.timeout` limits the whole wait"

MISSING = {
    "responses.connect": "a WebSocket needs a server",
    "models.delete": NO_FINE_TUNING,
    "files.retrieve_content": "deprecated there: `content`",
    "files.wait_for_processing": NOT_HERE,
    "images.create_variation": "the server does not serve it: only DALL·E 2 has it",
    "vector_stores.files.create_and_poll(max_wait_seconds)": TIMEOUT,
    "vector_stores.files.upload_and_poll(max_wait_seconds)": TIMEOUT,
    "vector_stores.files.poll(max_wait_seconds)": TIMEOUT,
    "vector_stores.file_batches.upload_and_poll(max_concurrency)": ONE_BY_ONE,
    "responses.retrieve(include_obfuscation)": "padding hides lengths on a line, and here is none",
    **{f"responses.{name}(access_programs)": UNSUPPORTED for name in ("create", "parse", "stream")},
    **{f"responses.{name}(moderation)": UNSUPPORTED for name in ("create", "parse", "stream")},
    **{
        f"responses.{name}(image)": UNSUPPORTED for name in ("create", "parse", "stream", "compact")
    },
    "responses.stream(text_format)": "`parse` reads the answer as an object",
    "responses.parse(parse_as)": "`text_format` decides what `output_parsed` is",
    "responses.parse(verbosity)": "`text` has it",
    "responses.parse(stream)": "a stream has no `output_parsed`",
}
"""What the SDK has and the library does not, with the reason."""

HTTP_EXTENSIONS = "an extension of the API here (docs/reference/parameters.md)"
OPTIONS = "the options of every call"

HELPERS = ("files.poll", "files.upload", "files.upload_and_poll")

MORE = {
    "responses.input_tokens.count(prompt)": HTTP_EXTENSIONS,
    "responses.input_items.list(before)": HTTP_EXTENSIONS,
    **{
        f"responses.{method}({name})": HTTP_EXTENSIONS
        for method in ("create", "parse", "stream")
        for name in ("antiphon", "client_metadata", "presence_penalty", "frequency_penalty")
    },
    **{
        f"vector_stores.{method}({name})": OPTIONS
        for method in (*HELPERS, "file_batches.poll", "file_batches.upload_and_poll")
        for name in ("extra_headers", "timeout")
    },
    "vector_stores.files.upload(attributes)": "as `upload_and_poll` has them",
    "vector_stores.file_batches.upload_and_poll(attributes)": "as `create_and_poll` has them",
}
"""What the library has and the SDK does not, with the reason."""

NEWER = {f"responses.{name}(background_options)" for name in ("create", "parse", "stream")}
"""What the SDK has since 3.57; the tests also run with an older one."""


def methods_of(resource: Any, name: str, home: str) -> Iterator[str]:
    """Yield the methods of a resource and of those below it, as `files.create`, and their
    parameters.
    """
    for attribute in dir(resource):
        if attribute.startswith("_") or attribute in VIEWS:
            continue
        found = getattr(resource, attribute)
        if inspect.ismethod(found):
            yield f"{name}.{attribute}"
            parameters = inspect.signature(found).parameters
            yield from (f"{name}.{attribute}({one})" for one in parameters)
        elif type(found).__module__.startswith(home):
            yield from methods_of(found, f"{name}.{attribute}", home)


def described(client: Any, home: str) -> set[str]:
    return {line for name in RESOURCES for line in methods_of(getattr(client, name), name, home)}


pytestmark = pytest.mark.wide


@pytest.fixture(params=["sync", "async"])
def both(request: pytest.FixtureRequest) -> tuple[set[str], set[str]]:
    """The methods and parameters of our client, and of the SDK's."""
    ours, theirs = (
        (Antiphon(), OpenAI(api_key="none"))
        if request.param == "sync"
        else (
            AsyncAntiphon(),
            AsyncOpenAI(api_key="none"),
        )
    )
    return described(ours, "antiphon."), described(theirs, "openai.")


def without_parts(lines: set[str], absent: set[str]) -> set[str]:
    """Leave out the parameters of methods that are absent themselves."""
    return {line for line in lines if line.partition("(")[0] not in absent or "(" not in line}


def test_what_the_sdk_has_and_the_library_lacks_is_listed_with_its_reason(
    both: tuple[set[str], set[str]],
) -> None:
    ours, theirs = both
    lacking = without_parts(theirs - ours, theirs - ours)
    assert {line for line in lacking if line.partition("(")[2][:-1] not in OF_HTTP} == {
        line for line in MISSING if line in theirs
    }


def test_what_the_library_adds_is_listed_with_its_reason(both: tuple[set[str], set[str]]) -> None:
    ours, theirs = both
    assert without_parts(ours - theirs, ours - theirs) - NEWER == MORE.keys() & ours


def test_positional_parameters_have_the_order_of_the_sdk() -> None:
    """`files.retrieve(id)` has to mean the same there and here."""
    positional = {}
    for client, home in ((Antiphon(), "antiphon."), (OpenAI(api_key="none"), "openai.")):
        for line in described(client, home):
            path = line.partition("(")[0]
            found: Any = client
            for name in path.split("."):
                found = getattr(found, name)
            kinds = inspect.signature(found).parameters.values()
            positional.setdefault(path, {})[home] = [
                one.name for one in kinds if one.kind is one.POSITIONAL_OR_KEYWORD
            ]
    differ = {
        path: found
        for path, found in positional.items()
        if len(found) == 2 and found["antiphon."] != found["openai."]
    }
    assert differ == {}
