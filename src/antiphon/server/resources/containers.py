"""`/v1/containers` and the files in them (specification of hosted tools, section 6)."""

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial

from antiphon.gateway import Gateway, RequestIdentity, StoredContainer
from antiphon.objects.files import Written
from antiphon.protocol.containers import (
    ContainerFilesQuery,
    ContainersQuery,
    CopyFile,
    CreateContainer,
)
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.containers import (
    CONTAINER,
    decode_container_files_query,
    decode_containers_query,
    decode_copy_file,
    decode_create_container,
)
from antiphon.protocol.validation.vector_stores import check_id
from antiphon.server.admission import IDEMPOTENCY_HEADER, acquire, decoded, reserve
from antiphon.server.described import CONTENT, Described, DescribedForm
from antiphon.server.reply import Reply, Resources, encode_json
from antiphon.server.request import HttpRequest
from antiphon.server.resources.files import content_reply, filename_of, form_of

ONE = "/v1/containers/{container_id}"
FILE = f"{ONE}/files/{{file_id}}"


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    containers = _Containers(gateway)
    files = _Files(gateway)
    return {
        "/v1/containers": {"GET": containers.list, "POST": containers.create},
        ONE: {"GET": containers.retrieve, "DELETE": containers.delete},
        f"{ONE}/files": {"GET": files.list, "POST": files.create},
        FILE: {"GET": files.retrieve, "DELETE": files.delete},
        f"{FILE}/content": {"GET": files.content},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    files = f"{ONE}/files"
    form = DescribedForm(["file"])
    return (
        Described("post", "/v1/containers", "Create a container", CreateContainer, takes_key=True),
        Described("get", "/v1/containers", "List containers", query=ContainersQuery),
        Described("get", ONE, "Get a container"),
        Described("delete", ONE, "Delete a container with its files"),
        Described(
            "post",
            files,
            "Upload a file, or copy one by its ID",
            CopyFile,
            form=form,
            takes_key=True,
        ),
        Described("get", files, "List its files", query=ContainerFilesQuery),
        Described("get", FILE, "Get a file of a container"),
        Described("delete", FILE, "Delete a file of a container"),
        Described(
            "get", f"{FILE}/content", "Get the content of a file of a container", media=CONTENT
        ),
    )


class _Containers:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._containers = gateway.containers

    async def create(self, http: HttpRequest) -> Reply:
        body = await http.body()
        request = await decoded(self._gateway, http, body, decode_create_container)
        await acquire(self._gateway, http, None)
        identity: RequestIdentity | Reply = RequestIdentity(http.tenant)
        if IDEMPOTENCY_HEADER in http.headers:
            identity = await reserve(self._gateway, http, body, self._gateway.new_id(CONTAINER))
        return (
            identity
            if isinstance(identity, Reply)
            else Reply(await self._containers.create(request, identity))
        )

    async def list(self, http: HttpRequest) -> Reply:
        query = decode_containers_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._containers.list(http.tenant, query))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return Reply(await self._containers.retrieve(http.tenant, _id(http)))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._containers.delete(http.tenant, _id(http)))


class _Files:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._containers = gateway.containers
        self._files = gateway.container_files

    async def create(self, http: HttpRequest) -> Reply:
        """Accept a form with the content of a file, or JSON with the id of a file."""
        await acquire(self._gateway, http, None)
        container = await self._containers.running(http.tenant, _id(http))
        if not _is_json(http):
            return await self._receive(http, container)
        request = decode_copy_file(await http.body())
        return Reply(await self._files.copy(container, request.file_id))

    async def _receive(self, http: HttpRequest, container: StoredContainer) -> Reply:
        form = _Form(self._gateway, http, container)
        try:
            await form.read()
            return await self._add(http, form)
        except BaseException:
            await form.drop()
            raise

    async def _add(self, http: HttpRequest, form: "_Form") -> Reply:
        if form.written is None:
            raise refusals.missing("file")
        identity: RequestIdentity | Reply = RequestIdentity(http.tenant)
        if IDEMPOTENCY_HEADER in http.headers:
            content = encode_json([form.filename, form.written.digest.hex()])
            identity = await reserve(self._gateway, http, content, self._gateway.new_id("cfile"))
        if isinstance(identity, Reply):
            await form.drop()
            return identity
        return Reply(await self._files.add(form.container, form.filename, form.written, identity))

    async def list(self, http: HttpRequest) -> Reply:
        query = decode_container_files_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._files.list(http.tenant, _id(http), query))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return Reply(
            await self._files.retrieve(http.tenant, _id(http), http.path_params["file_id"])
        )

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._files.delete(http.tenant, _id(http), http.path_params["file_id"]))

    async def content(self, http: HttpRequest) -> Reply:
        await acquire(self._gateway, http, None)
        file = await self._files.load(http.tenant, _id(http), http.path_params["file_id"])
        name = file.path.rpartition("/")[2]
        return content_reply(http, name, file.size, partial(self._files.read, file))


class _Form:
    """The form of a new file: its content is written as it arrives."""

    def __init__(self, gateway: Gateway, http: HttpRequest, container: StoredContainer) -> None:
        self._container_files = gateway.container_files
        self._files = gateway.files
        self._http = http
        self.container = container
        self.filename = ""
        self.written: Written | None = None

    async def read(self) -> None:
        """Read all of it. Raises `ClientError`, `StoreError`, and `ClientDisconnected` if the
        client disconnects.
        """
        room = await self._container_files.room(self.container)
        async with aclosing(form_of(self._http, room.size, self._files.retained)) as parts:
            async for part in parts:
                if part.name != "file":
                    raise refusals.unknown(part.name[:100])
                if self.written is not None:
                    raise refusals.invalid("file", "the form has several of them. Send one.")
                self.filename = filename_of(part)
                self.written = await self._files.write(self.container.tenant, part.content(), room)

    async def drop(self) -> None:
        """Delete the content, unless a file uses it."""
        if self.written is not None:
            await self._files.drop(self.container.tenant, self.written.blob)


def _is_json(http: HttpRequest) -> bool:
    kind = http.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    return kind in (b"application/json", b"")


def _id(http: HttpRequest) -> str:
    return check_id(http.path_params["container_id"], "container_id", CONTAINER)
