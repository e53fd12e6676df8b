"""`/v1/uploads`: a file in parts of up to 64 MB, also in parallel, until it is completed."""

from collections.abc import Sequence
from contextlib import aclosing

from antiphon.gateway import Gateway, RequestIdentity
from antiphon.objects.uploads import PART
from antiphon.protocol.files import CompleteUpload, CreateUpload
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.forms import decode_complete_upload, decode_create_upload
from antiphon.server.admission import IDEMPOTENCY_HEADER, acquire, decoded, reserve
from antiphon.server.described import Described, DescribedForm
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import HttpRequest
from antiphon.server.resources.files import form_of


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Uploads(gateway)
    one = "/v1/uploads/{upload_id}"
    return {
        "/v1/uploads": {"POST": api.create},
        f"{one}/parts": {"POST": api.add_part},
        f"{one}/complete": {"POST": api.complete},
        f"{one}/cancel": {"POST": api.cancel},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    one = "/v1/uploads/{upload_id}"
    return (
        Described("post", "/v1/uploads", "Begin an upload in parts", CreateUpload, takes_key=True),
        Described("post", f"{one}/parts", "Add a part", form=DescribedForm(["data"])),
        Described("post", f"{one}/complete", "Complete an upload", CompleteUpload),
        Described("post", f"{one}/cancel", "Cancel an upload"),
    )


class _Uploads:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._uploads = gateway.uploads
        self._files = gateway.files

    async def create(self, http: HttpRequest) -> Reply:
        body = await http.body()
        request = await decoded(self._gateway, http, body, decode_create_upload)
        await acquire(self._gateway, http, None)
        upload_id = self._gateway.new_id("upload")
        identity: RequestIdentity | Reply
        if IDEMPOTENCY_HEADER in http.headers:
            identity = await reserve(self._gateway, http, body, upload_id)
        else:
            identity = RequestIdentity(http.tenant, upload_id)
        if isinstance(identity, Reply):
            return identity
        return Reply(await self._uploads.create(request, identity))

    async def add_part(self, http: HttpRequest) -> Reply:
        await acquire(self._gateway, http, None)
        upload = await self._uploads.pending(http.tenant, http.path_params["upload_id"])
        created = None
        async with aclosing(form_of(http, PART, self._files.retained)) as parts:
            async for part in parts:
                if part.name != "data":
                    raise refusals.unknown(part.name[:100])
                if created is not None:
                    raise refusals.invalid("data", "the form has several of them. Send one.")
                created = await self._uploads.add_part(upload, part.content())
        if created is None:
            raise refusals.missing("data")
        return Reply(created)

    async def complete(self, http: HttpRequest) -> Reply:
        request = await decoded(self._gateway, http, await http.body(), decode_complete_upload)
        await acquire(self._gateway, http, None)
        return Reply(
            await self._uploads.complete(http.tenant, http.path_params["upload_id"], request)
        )

    async def cancel(self, http: HttpRequest) -> Reply:
        await http.body()
        return Reply(await self._uploads.cancel(http.tenant, http.path_params["upload_id"]))
