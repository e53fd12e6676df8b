"""Reads one line of JSON, then the bytes of a file, from standard input. Writes one line of JSON,
then the result.

The line of JSON has `task`, `memory` (bytes of address space), `cpu` (seconds), and the parameters
of the task:

- `text`: `filename`, and the fields of `output.ExtractionBounds`. Result: `kind`, `pages`,
  `is_cut`, then the text in UTF-8.
- `page`, of the web: `url`, `charset`, `is_html`, `longest` (characters). Result: `title`,
  `is_cut`, then the text.
- `pages`: `first`, `count`, `pixels`, `longest` (bytes). Result: `sizes`, then the images one after
  the other.

A file that cannot be read has the result `code`, `message`, `reason`, `pages`.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from antiphon.documents.extraction.problem import Problem

try:
    import resource
except ImportError:  # not on Windows; there the parent's clock is the only limit
    resource = None  # type: ignore[assignment]

NICENESS = 10
FILES = 16

Result = tuple[dict[str, Any], bytes]


def text(content: bytes, *, filename: str, **bounds: Any) -> Result:
    """Return the text of a file."""
    from antiphon.documents.extraction import formats  # noqa: PLC0415 - each task loads what it needs
    from antiphon.documents.extraction.output import ExtractionBounds  # noqa: PLC0415 - as above

    kind, output = formats.read(content, filename, ExtractionBounds(**bounds))
    return {"kind": kind, "pages": output.pages, "is_cut": output.is_cut}, output.content()


def page(content: bytes, **options: Any) -> Result:
    """Return the text of a web page."""
    from antiphon.documents.extraction import page as pages  # noqa: PLC0415 - as above

    read = pages.read(content, **options)
    return read, read.pop("text").encode()


def pages(content: bytes, **options: Any) -> Result:
    """Return pages of a PDF as images."""
    from antiphon.documents.extraction import pdf  # noqa: PLC0415 - as above

    images = list(pdf.images(content, **options))
    return {"sizes": [len(image) for image in images]}, b"".join(images)


TASKS: Mapping[str, Callable[..., Result]] = {"text": text, "page": page, "pages": pages}


def limit(memory: int, cpu: int) -> None:
    """Limit the resources of this process, and lower its CPU priority below the server's."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if resource is not None:
        limits = {
            resource.RLIMIT_AS: memory,
            resource.RLIMIT_CPU: cpu,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_NOFILE: FILES,
        }
        for kind, amount in limits.items():
            resource.setrlimit(kind, (amount, amount))


def main() -> None:
    """Run as the module describes."""
    requested = json.loads(sys.stdin.buffer.readline())
    limit(requested.pop("memory"), requested.pop("cpu"))
    try:
        head, payload = TASKS[requested.pop("task")](sys.stdin.buffer.read(), **requested)
    except Problem as problem:
        head = {
            "code": problem.code,
            "message": problem.message,
            "reason": problem.reason,
            "pages": problem.pages,
        }
        payload = b""
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    sys.stdout.buffer.write(payload)


if __name__ == "__main__":
    main()
