"""Reads documents in child processes: text for a model or an index, pages as images for models with
vision.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from antiphon.documents.limits import REQUEST, DocumentLimits
from antiphon.sharing.child import Child, ChildError, Input, child_turns
from antiphon.sharing.scheduler import FairScheduler

PROGRAM = ("-m", "antiphon.documents.extraction")
"""Never imported in the server: its libraries are large, and it reads untrusted data."""

ROOM = 4096
"""Bytes of one answer besides the text, or the images of pages."""
COST = 1_000_000
"""Bytes of a document that cost the scheduler as much as one more document."""

Code = Literal["invalid_file", "unsupported_file"]
Reason = Literal["", "password", "no_text", "busy"]
REASONS: tuple[Reason, ...] = ("password", "no_text")
"""Reasons that a child process can return."""


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file. `pages` is 0 if the format has no pages."""

    text: str
    pages: int
    is_cut: bool
    """The file has more text than this. The text says how many rows, columns or pages are
    missing.
    """
    kind: str
    """`pdf`, `docx`, `xlsx`, `text`, …"""


class DocumentError(Exception):
    """A file cannot be read.

    `message` is a sentence for the client with the reason, and what to do.
    """

    def __init__(self, code: Code, message: str, reason: Reason = "", pages: int = 0) -> None:
        super().__init__(message)
        self.pages = pages
        self.code: Code = code
        self.message = message
        self.reason: Reason = reason
        """`busy` if the same file may be readable later; `no_text` for a PDF with `pages` that can
        be shown.
        """


class DocumentReader:
    """Reads the documents of this process."""

    def __init__(
        self,
        turns: FairScheduler | None = None,
        *,
        seconds: float | None = None,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """`seconds` replaces those of the limits."""
        self._seconds = seconds
        self._child = Child(
            program,
            turns or child_turns(),
            seconds=REQUEST.seconds,
            most_output=REQUEST.longest + ROOM,
        )

    async def read(
        self,
        content: Input,
        filename: str,
        tenant: str = "",
        size: int = 0,
        limits: DocumentLimits = REQUEST,
    ) -> Document:
        """Return the text of a file; its kind is detected from its bytes, else from its name.

        `size` is the number of bytes of content that arrives in parts. Raises `DocumentError`, and
        errors of the parts. The wait for the tenant's turn is limited only by the length of the
        queue.
        """
        bounds = {
            "rows": limits.rows,
            "columns": limits.columns,
            "pages": limits.pages,
            "longest": limits.longest,
        }
        head, payload = await self._send_request(
            content, tenant, size, limits, task="text", filename=filename, **bounds
        )
        try:
            return Document(
                str(payload, "utf-8"), int(head["pages"]), bool(head["is_cut"]), str(head["kind"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _failed(ChildError("broken"), limits) from error

    async def pages(
        self, content: bytes, *, first: int, count: int, pixels: int, tenant: str = ""
    ) -> Sequence[bytes]:
        """Return pages of a PDF as PNG images, from page `first` (0 is the first one), fewer if
        they are too large.

        `pixels` is the length of an image's longer side. Raises `DocumentError`.
        """
        limits = REQUEST
        task = {
            "task": "pages",
            "first": first,
            "count": count,
            "pixels": pixels,
            "longest": limits.longest,
        }
        head, payload = await self._send_request(content, tenant, 0, limits, **task)
        try:
            sizes = [int(size) for size in head["sizes"]]
        except (KeyError, TypeError, ValueError) as error:
            raise _failed(ChildError("broken"), limits) from error
        ends = list(accumulate(sizes))
        return [bytes(payload[end - size : end]) for size, end in zip(sizes, ends, strict=True)]

    async def _send_request(
        self, content: Input, tenant: str, size: int, limits: DocumentLimits, **task: Any
    ) -> tuple[dict[str, Any], memoryview]:
        """Return the head and the payload of an answer, which is not copied: it can be large."""
        request = json.dumps(task | {"memory": limits.memory, "cpu": limits.cpu}).encode() + b"\n"
        size = len(content) if isinstance(content, bytes) else size
        try:
            seconds = self._seconds or limits.seconds
            answer = await self._child.run(
                request, content, tenant=tenant, cost=1 + size / COST, seconds=seconds
            )
            end = answer.find(b"\n") + 1 or len(answer)
            head = json.loads(answer[:end])
            payload = memoryview(answer)[end:]
        except ChildError as error:
            raise _failed(error, limits) from error
        except ValueError as error:
            raise _failed(ChildError("broken"), limits) from error
        if not isinstance(head, dict):
            raise _failed(ChildError("broken"), limits)
        if "code" in head:
            raise _problem(head)
        return head, payload


def _problem(head: dict[str, Any]) -> DocumentError:
    """Return the child process's error for a file; the child itself is untrusted."""
    code: Code = "unsupported_file" if head["code"] == "unsupported_file" else "invalid_file"
    reason: Reason = next((one for one in REASONS if one == head.get("reason")), "")
    pages = head.get("pages")
    return DocumentError(
        code, str(head.get("message")), reason, pages if isinstance(pages, int) else 0
    )


def _failed(error: ChildError, limits: DocumentLimits) -> DocumentError:
    if error.reason == "busy":
        return DocumentError(
            "invalid_file", "Too many files are being read at once. Try again later.", "busy"
        )
    if error.reason == "slow":
        return DocumentError(
            "invalid_file", f"Reading the file took longer than {limits.seconds:g} seconds."
        )
    return DocumentError(
        "invalid_file",
        f"Reading the file needs more than {limits.memory // 1024 // 1024} MB of memory "
        f"or {limits.cpu} seconds of CPU time, or the file is damaged.",
    )
