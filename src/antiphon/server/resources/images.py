"""`/v1/images/generations` and `/v1/images/edits`: validated, then forwarded; an image by URL
returns as base64.

An edit can be a form, which is forwarded unchanged except the model's name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from antiphon.errors import ClientError
from antiphon.gateway import Gateway, ImagesTally, JsonObject, Passing, UsageLease, weight_of
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.validate import check_images_fields, decode_images_request
from antiphon.server.admission import acquire, decoded
from antiphon.server.described import Described, DescribedForm
from antiphon.server.multipart import FormParser, PartHead, boundary_of
from antiphon.server.reply import DisconnectWatch, Endpoint, Reply, ReplySink, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.resources.chat_completions import check_redirects, passed_headers

MOST_TEXT = 128 * 1024
"""Bytes of a field of a form that is text: a prompt has at most 32,000 characters."""


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    return {
        f"/v1{path}": {"POST": _endpoint(gateway, path)}
        for path in ("/images/generations", "/images/edits")
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    body = {
        "type": "object",
        "required": ["prompt"],
        "properties": {
            "prompt": {"type": "string"},
            "model": {"type": ["string", "null"]},
            "stream": {"type": ["boolean", "null"]},
        },
    }
    form = DescribedForm(["image", "mask"], body, needs_files=False)
    return (
        Described("post", "/v1/images/generations", "Create images", body),
        Described("post", "/v1/images/edits", "Edit images", body, form=form),
    )


def _endpoint(gateway: Gateway, path: str) -> Endpoint:
    async def pass_on(http: HttpRequest) -> Reply:
        is_form = http.headers.get(b"content-type", b"").lower().startswith(b"multipart/")
        body = await http.incoming.read(is_form=is_form)
        form = read_form(body, boundary_of(http.headers[b"content-type"])) if is_form else None
        request = form.fields if form else await decoded(gateway, http, body, decode_images_request)
        model = request.setdefault("model", gateway.images_model)
        if not model:
            raise refusals.missing("model")
        await check_redirects(http, request)
        text = body if form is None else str(request.get("prompt", "")).encode()
        lease = await acquire(gateway, http, model, partial(weight_of, text, 0), len(text))
        make_form = form.with_model if form else None
        passing = await gateway.passing_images(
            path, request, http.tenant, lease, len(body), make_form
        )
        return Reply(_PassedOn(passing, lease))

    return pass_on


@dataclass(frozen=True, slots=True)
class FormBody:
    """An unchanged form, except the name of its model."""

    fields: JsonObject
    """Its texts by their names; of a file, only its presence."""
    before: bytes
    behind: bytes
    content_type: str

    def with_model(self, model: str) -> tuple[bytes, str]:
        """Return the form with a model's name, and its type."""
        return model.encode().join((self.before, self.behind)), self.content_type


def read_form(body: bytes, boundary: bytes) -> FormBody:
    """Return a form. Raises `ClientError` (400) if it is malformed or has an invalid field."""
    fields = _fields_of(body, boundary)
    check_images_fields(fields)
    before, behind = _around_model(body, boundary)
    return FormBody(fields, before, behind, f"multipart/form-data; boundary={boundary.decode()}")


def _fields_of(body: bytes, boundary: bytes) -> JsonObject:
    parser = FormParser(boundary)
    head = PartHead("", None)
    text = bytearray()
    found: JsonObject = {}
    for event in parser.feed(body):
        if isinstance(event, bytes):
            if head.filename is None and len(text) + len(event) <= MOST_TEXT:
                text += event
            elif head.filename is None:
                raise refusals.too_long(
                    head.name[:100], "string", MOST_TEXT, len(text) + len(event)
                )
            continue
        _note(found, head, bytes(text))
        if isinstance(event, PartHead):
            head = event
            text = bytearray()
    parser.finish()
    return found


def _note(found: JsonObject, head: PartHead, text: bytes) -> None:
    """Record a finished part.

    A repeated field is rejected: a backend could read another copy than the checked one.
    """
    if head.filename is not None:
        found[head.name] = True
    elif head.name:
        if head.name in found:
            twice = f"The form has the field '{head.name[:100]}' more than once. Send it once."
            raise ClientError(twice, param=head.name[:100])
        try:
            found[head.name] = text.decode()
        except UnicodeDecodeError:
            raise refusals.invalid(head.name[:100], "it is not UTF-8.") from None


def _around_model(body: bytes, boundary: bytes) -> tuple[bytes, bytes]:
    """Return the bytes before and after the value of `model`; without one, it is put first."""
    mark = b"--" + boundary
    place = 0
    while (place := body.find(mark, place)) >= 0:
        begin = body.find(b"\r\n\r\n", place)
        end = body.find(b"\r\n" + mark, begin)
        if begin < 0 or end < 0:
            break
        events = list(FormParser(boundary).feed(body[place:begin] + b"\r\n\r\n\r\n" + mark + b"--"))
        if events and isinstance(events[0], PartHead) and events[0].name == "model":
            return body[: begin + 4], body[end:]
        place = end + 2
    return mark + b'\r\ncontent-disposition: form-data; name="model"\r\n\r\n', b"\r\n" + body


class _PassedOn:
    """An answer on its way to the client.

    The tokens that it reports are charged, without them those of the request.
    """

    def __init__(self, passing: Passing, lease: UsageLease | None) -> None:
        self._passing = passing
        self._lease = lease
        self._tally = ImagesTally()

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        self._sink = sink
        try:
            async with DisconnectWatch(sink.receive):
                await self._passing.run(self)
        finally:
            if self._lease is not None:
                usage = self._tally.usage()
                passing = self._passing
                self._lease.report(passing.spent(usage) if usage else passing.spent_on_request())

    async def begin(self, status: int, backend: str, headers: Mapping[str, str]) -> None:
        """The answer starts."""
        await self._sink.start(status, passed_headers(backend, headers))

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        """A part of it arrives."""
        self._tally.feed(part)
        await self._sink.write(part, more_body=more_body)
