"""`/v1/files`: content is streamed from a form to the storage, and from the storage to the
client.
"""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from urllib.parse import quote

from antiphon.errors import ClientError
from antiphon.gateway import Gateway, RequestIdentity
from antiphon.http_server.asgi import RawHeaders
from antiphon.objects.files import Written
from antiphon.protocol.filenames import clean_filename
from antiphon.protocol.files import FileForm, FilesQuery
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.forms import check_purpose, decode_file_form, decode_files_query
from antiphon.server.admission import IDEMPOTENCY_HEADER, acquire, reserve
from antiphon.server.described import CONTENT, Described, DescribedForm
from antiphon.server.multipart import OVERHEAD, FormPart, boundary_of, parts_of
from antiphon.server.reply import DisconnectWatch, Reply, ReplySink, Resources, encode_json
from antiphon.server.request import HttpRequest

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Files(gateway)
    one = "/v1/files/{file_id}"
    return {
        "/v1/files": {"GET": api.list, "POST": api.create},
        one: {"GET": api.retrieve, "DELETE": api.delete},
        f"{one}/content": {"GET": api.content},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    one = "/v1/files/{file_id}"
    form = DescribedForm(["file"], FileForm)
    return (
        Described("get", "/v1/files", "List files", query=FilesQuery),
        Described("post", "/v1/files", "Upload a file", form=form, takes_key=True),
        Described("get", one, "Get a file"),
        Described("delete", one, "Delete a file"),
        Described("get", f"{one}/content", "Get the content of a file", media=CONTENT),
    )


def form_of(http: HttpRequest, most: int, reserved: int) -> AsyncGenerator[FormPart, None]:
    """Yield the parts of a request's form, with a limit for the bytes of content; few of them are
    held in memory.

    Raises `ClientError`: 415 if it is not a form, 400 if it is malformed, 413 if it is too large.
    """
    boundary = boundary_of(http.headers.get(b"content-type", b""))
    return parts_of(http.incoming.stream(most + OVERHEAD, reserved), boundary)


class _Files:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._files = gateway.files

    async def create(self, http: HttpRequest) -> Reply:
        await acquire(self._gateway, http, None)
        form = _Form(self._gateway, http)
        try:
            await form.read()
            return await self._store(http, form)
        except BaseException:
            await form.drop()
            raise

    async def _store(self, http: HttpRequest, form: "_Form") -> Reply:
        request = decode_file_form(form.fields)
        written = form.written
        if written is None:
            raise refusals.missing("file")
        identity: RequestIdentity | Reply = RequestIdentity(http.tenant)
        if IDEMPOTENCY_HEADER in http.headers:
            content = [form.filename, written.digest.hex()]
            body = encode_json([form.fields, content])
            identity = await reserve(self._gateway, http, body, self._gateway.new_id("file"))
        if isinstance(identity, Reply):
            await form.drop()
            return identity
        return Reply(await self._files.create(request, form.filename, written, identity))

    async def list(self, http: HttpRequest) -> Reply:
        query = decode_files_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._files.list(http.tenant, query))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return Reply(await self._files.retrieve(http.tenant, http.path_params["file_id"]))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._files.delete(http.tenant, http.path_params["file_id"]))

    async def content(self, http: HttpRequest) -> Reply:
        await acquire(self._gateway, http, None)
        file = await self._files.load(http.tenant, http.path_params["file_id"])
        return content_reply(http, file.filename, file.size, partial(self._files.read, file))


class _Form:
    """The form of a new file: its content is written as it arrives, before or after the other
    fields.
    """

    def __init__(self, gateway: Gateway, http: HttpRequest) -> None:
        self._files = gateway.files
        self._http = http
        self.fields: dict[str, str] = {}
        self.filename = ""
        self.written: Written | None = None

    async def read(self) -> None:
        """Read all of it. Raises `ClientError`, `StoreError`, and `ClientDisconnected` if the
        client disconnects.
        """
        room = await self._files.room(self._http.tenant)
        async with aclosing(form_of(self._http, room.size, self._files.retained)) as parts:
            async for part in parts:
                if part.name in self.fields or (part.name == "file" and self.written is not None):
                    raise refusals.invalid(
                        part.name[:100], "the form has several of them. Send one."
                    )
                if part.name != "file":
                    self.fields[part.name] = await part.text()
                    continue
                if "purpose" in self.fields:
                    check_purpose(self.fields["purpose"])
                self.filename = filename_of(part)
                self.written = await self._files.write(self._http.tenant, part.content(), room)

    async def drop(self) -> None:
        """Delete the content, unless a file uses it."""
        if self.written is not None:
            await self._files.drop(self._http.tenant, self.written.blob)


def content_reply(
    http: HttpRequest,
    filename: str,
    size: int,
    read: Callable[[int, int], AsyncGenerator[bytes, None]],
) -> Reply:
    """Reply with content of `size` bytes, or with the requested range.

    Raises `ClientError` (416).
    """
    span = range_of(http.headers, size)
    start, end = span or (0, size)
    headers = [
        (b"content-type", b"application/octet-stream"),
        (b"content-disposition", attachment(filename)),
        (b"content-length", b"%d" % (end - start)),
        (b"accept-ranges", b"bytes"),
    ]
    if span is not None:
        headers.append((b"content-range", b"bytes %d-%d/%d" % (start, end - 1, size)))
    return Reply(FileDownload(read(start, end), 200 if span is None else 206, headers))


def filename_of(part: FormPart) -> str:
    """Return the name of a file in a form, cleaned. Raises `ClientError` (400) if it has none."""
    name = clean_filename(part.filename or "")
    if not name:
        text = (
            "Invalid 'file': the part of the form needs a filename. Send one, such as "
            'filename="report.pdf".'
        )
        raise ClientError(text, code="invalid_value", param="file")
    return name


def range_of(headers: Mapping[bytes, bytes], size: int) -> tuple[int, int] | None:
    """Return the first byte to send and the first that is not; None for all of them.

    An unknown kind of range, or several ranges, mean all bytes. Raises `ClientError` (416) for a
    range that begins after the end (RFC 9110, section 14).
    """
    found = _RANGE.fullmatch(headers.get(b"range", b"").decode("latin-1").strip())
    first, last = found.groups() if found else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        return None
    start = int(first) if first else max(size - int(last), 0)
    if start >= size:
        text = f"The range begins behind the end of the file, which has {size} bytes."
        headers_of_all = {"content-range": f"bytes */{size}"}
        raise ClientError(text, status=416, code="invalid_range", headers=headers_of_all)
    return start, min(int(last) + 1, size) if first and last else size


def attachment(filename: str) -> bytes:
    """Return the header with which a browser saves the content under its name, and never shows it
    (RFC 6266).
    """
    plain = "".join(
        mark if mark.isascii() and mark.isprintable() and mark not in '"\\%' else "_"
        for mark in filename
    )
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}".encode()


class FileDownload:
    """Content on its way to the client."""

    def __init__(
        self, parts: AsyncGenerator[bytes, None], status: int, headers: RawHeaders
    ) -> None:
        self._parts = parts
        self._status = status
        self._headers = headers

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`. The first part is read before the head is sent: then an error still
        has its status.
        """
        async with aclosing(self._parts) as parts, DisconnectWatch(sink.receive):
            part = await anext(parts, b"")
            await sink.start(self._status, self._headers)
            while part:
                await sink.write(part)
                part = await anext(parts, b"")
            await sink.write(b"", more_body=False)
