"""Texts that a JSON Schema takes: of a format, of a pattern, or as long as it asks."""

from collections.abc import Iterator

from antiphon.upstream.demo.fits import Schema, is_number
from antiphon.upstream.demo.patterns import LONGEST, texts

FORMATS = {
    "date": "2025-01-{:02}",
    "date-time": "2025-01-{:02}T12:00:00Z",
    "time": "12:{:02}:00Z",
    "duration": "PT{}H",
    "email": "demo{}@example.com",
    "idn-email": "demo{}@example.com",
    "hostname": "host{}.example.com",
    "idn-hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "uri": "https://example.com/{}",
    "uri-reference": "/{}",
    "url": "https://example.com/{}",
    "iri": "https://example.com/{}",
    "iri-reference": "/{}",
    "uri-template": "https://example.com/{}",
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
    "json-pointer": "/{}",
    "relative-json-pointer": "{}",
    "regex": "[a-z]{{{}}}",
}
"""A text of each format, with the place of a number from 1 to 28."""


def strings(schema: Schema, wanted: str, vary: int) -> Iterator[str]:
    """Give candidates: `wanted`, where the schema leaves the choice free. Another `vary` gives others.

    Not each need fit.
    """
    form, pattern = schema.get("format"), schema.get("pattern")
    if isinstance(pattern, str):
        yield from _of_pattern(pattern, vary)
    elif isinstance(form, str) and form in FORMATS:
        yield FORMATS[form].format(vary % 28 + 1)
    else:
        yield _long_enough(schema, wanted, f" {vary + 1}" if vary else "")


def _of_pattern(pattern: str, vary: int) -> Iterator[str]:
    try:
        yield from texts(pattern, vary)
    except ValueError:
        return


def _long_enough(schema: Schema, wanted: str, ending: str) -> str:
    least, most = (schema.get(name) for name in ("minLength", "maxLength"))
    if is_number(least):
        wanted = wanted.ljust(min(int(least), LONGEST) - len(ending), "x")
    if is_number(most):
        wanted = wanted[: max(int(most) - len(ending), 0)]
        ending = ending.strip()[: int(most)] if not wanted else ending
    return wanted + ending
