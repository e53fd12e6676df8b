"""Containers and their files, if the server supports them. Each case deletes what it creates."""

from collections.abc import Generator
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.files import FORM, form, upload
from antiphon_verify.case import case
from antiphon_verify.exchange import Exchange, Request, Step
from antiphon_verify.reading import at, is_integer, is_text, listed, preview, unlike
from antiphon_verify.refusal import is_refused
from antiphon_verify.replies import Reply, replaced
from antiphon_verify.replies.responses import containers as replies
from antiphon_verify.replies.responses.containers import NAME
from antiphon_verify.replies.responses.files import CONTENT
from antiphon_verify.requirement import must, should
from antiphon_verify.trial import ExchangeSteps, Steps, Trial

SOURCE = "spec containers"


PATH = "/containers"
UNKNOWN = "cntr_" + "0" * 32
NAMED = "name=antiphon%20verify%20list"

Creation = Generator[Step, Any, tuple[Exchange, str]]
"""Steps that create an object; their result is the exchange, and the path of the object."""


def create(trial: Trial, name: str = NAME, **fields: Any) -> Creation:
    """Create a container. Ends the case if the server has no containers."""
    exchange = yield from trial.post(PATH, {"name": name, **fields})
    trial.succeed(exchange)
    return exchange, f"{PATH}/{id_of(exchange.json)}"


def add_file(
    trial: Trial, path: str, content: bytes = CONTENT, *, field: str = "file"
) -> ExchangeSteps:
    """Upload a file into the container at a path."""
    return trial.send_request(
        Request(method="POST", path=f"{path}/files", content=form(field, content), headers=FORM)
    )


def ids_of(page: Exchange) -> list[Any]:
    """Return the ids of a page of a list."""
    return [at(one, "id") for one in listed(page.json, "data")]


@case(
    must(
        "responses:containers:created",
        SOURCE,
        "A request with a `name` creates a container that is `running`.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.patched("status", to="starting")),
    ),
    must(
        "responses:containers:object",
        SOURCE,
        "A container has `name`, `created_at` and `last_active_at`, and an id that "
        "begins with `cntr_`.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.patched("id", to="box_1")),
    ),
    should(
        "responses:containers:defaults",
        SOURCE,
        "A container expires 20 minutes after its last use and has 1g of memory.",
        fault=replaced(replies.LIFE, 0, replies.CREATED.without("memory_limit")),
    ),
    must(
        "responses:containers:retrieved",
        SOURCE,
        "A container can be retrieved by its id.",
        fault=replaced(replies.LIFE, 1, replies.CREATED.patched("id", to="cntr_2")),
    ),
    should(
        "responses:containers:deleted-body",
        SOURCE,
        "The response to a deletion has `deleted` and the id.",
        fault=replaced(replies.LIFE, 2, replies.REMOVED.without("deleted")),
    ),
    must(
        "responses:containers:deleted",
        SOURCE,
        "A deleted container returns 404.",
        fault=replaced(replies.LIFE, 3, replies.CREATED),
    ),
    good=replies.LIFE,
)
def a_container_lives(trial: Trial) -> Steps:
    """Create a container, retrieve it, delete it."""
    exchange = yield from trial.post(PATH, {"name": NAME})
    trial.supported(exchange)
    created = exchange.json
    is_created = (
        exchange.is_ok
        and at(created, "object") == "container"
        and at(created, "status") == "running"
    )
    trial.expect(
        "responses:containers:created", is_created and is_text(at(created, "id")), exchange.came
    )
    trial.succeed(exchange)
    is_named = id_of(created).startswith("cntr_") and at(created, "name") == NAME
    is_whole = is_named and all(
        is_integer(at(created, key)) for key in ("created_at", "last_active_at")
    )
    trial.expect("responses:containers:object", is_whole, exchange.came)
    expiry = {"anchor": "last_active_at", "minutes": 20}
    is_usual = at(created, "expires_after") == expiry and at(created, "memory_limit") == "1g"
    trial.expect("responses:containers:defaults", is_usual, exchange.came)
    path = f"{PATH}/{id_of(created)}"
    found = yield from trial.get(path)
    trial.expect(
        "responses:containers:retrieved",
        found.is_ok and id_of(found.json) == id_of(created),
        found.came,
    )
    deleted = yield from trial.delete(path)
    is_reported = at(deleted.json, "deleted") is True and at(deleted.json, "id") == id_of(created)
    trial.expect("responses:containers:deleted-body", is_reported, deleted.came)
    after = yield from trial.get(path)
    trial.expect("responses:containers:deleted", deleted.is_ok and after.status == 404, after.came)


@case(
    should(
        "responses:containers:expires-after",
        SOURCE,
        "`expires_after` sets the minutes until a container expires.",
        fault=replaced(replies.OPTIONS, 1, replies.CREATED),
    ),
    should(
        "responses:containers:file-ids",
        SOURCE,
        "A container is created with the files of `file_ids`.",
        fault=replaced(replies.OPTIONS, 2, replies.page(replies.FILE)),
    ),
    good=replies.OPTIONS,
)
def a_container_is_created_with_options(trial: Trial) -> Steps:
    """Create a container that expires after 5 minutes and has a stored file."""
    stored = yield from upload(trial, "user_data")
    trial.succeed(stored)
    expiry = {"anchor": "last_active_at", "minutes": 5}
    exchange, path = yield from create(trial, expires_after=expiry, file_ids=[id_of(stored.json)])
    trial.expect(
        "responses:containers:expires-after",
        at(exchange.json, "expires_after") == expiry,
        exchange.came,
    )
    files = yield from trial.get(f"{path}/files")
    is_there = [(at(one, "bytes"), at(one, "source")) for one in listed(files.json, "data")] == [
        (len(CONTENT), "user")
    ]
    trial.expect("responses:containers:file-ids", is_there, files.came)
    yield from trial.delete(path)
    yield from trial.delete(f"/files/{id_of(stored.json)}")


@case(
    must(
        "responses:containers:listed",
        SOURCE,
        "Containers are listed, newest first.",
        fault=replaced(replies.LISTS, 2, replies.page(replies.CONTAINER, "cntr_1", "cntr_2")),
    ),
    should(
        "responses:containers:named",
        SOURCE,
        "`name` filters the list of containers.",
        fault=replaced(replies.LISTS, 3, replies.page(replies.CONTAINER, "cntr_2", "cntr_0")),
    ),
    should(
        "responses:containers:paged",
        SOURCE,
        "`limit`, `order` and `after` page through the list of containers.",
        fault=replaced(replies.LISTS, 5, replies.page(replies.CONTAINER, "cntr_2", "cntr_1")),
    ),
    good=replies.LISTS,
)
def containers_are_listed(trial: Trial) -> Steps:
    """Create two containers, list all, list by name, page through the list, delete both."""
    ids = []
    paths = []
    for _ in range(2):
        exchange, path = yield from create(trial, f"{NAME} list")
        ids.append(id_of(exchange.json))
        paths.append(path)
    page = yield from trial.get(f"{PATH}?limit=100")
    found = [one for one in ids_of(page) if one in ids]
    trial.expect(
        "responses:containers:listed",
        at(page.json, "object") == "list" and found == ids[::-1],
        page.came,
    )
    named = yield from trial.get(f"{PATH}?{NAMED}")
    names = {at(one, "name") for one in listed(named.json, "data")}
    trial.expect("responses:containers:named", names == {f"{NAME} list"}, named.came)
    first = yield from trial.get(f"{PATH}?{NAMED}&order=desc&limit=1")
    rest = yield from trial.get(f"{PATH}?{NAMED}&order=desc&limit=1&after={ids[1]}")
    pages = [ids_of(first), ids_of(rest)]
    is_paged = pages == [[ids[1]], [ids[0]]] and at(first.json, "has_more") is True
    trial.expect("responses:containers:paged", is_paged, preview(pages))
    for path in paths:
        yield from trial.delete(path)


@case(
    must(
        "responses:containers:file-uploaded",
        SOURCE,
        "A form with `file` adds a file to a container.",
        fault=replaced(replies.FILE_LIFE, 1, replies.ADDED.patched("object", to="file")),
    ),
    must(
        "responses:containers:file-object",
        SOURCE,
        "A file of a container has `bytes`, `created_at`, `container_id` and the `source` of who "
        "added it.",
        fault=replaced(replies.FILE_LIFE, 1, replies.ADDED.patched("bytes", to=1)),
    ),
    should(
        "responses:containers:file-path",
        SOURCE,
        "The `path` of a file is in `/mnt/data/` and ends with the name of the file.",
        fault=replaced(replies.FILE_LIFE, 1, replies.ADDED.patched("path", to="/srv/notes")),
    ),
    must(
        "responses:containers:file-retrieved",
        SOURCE,
        "A file of a container can be retrieved by its id.",
        fault=replaced(replies.FILE_LIFE, 2, replies.ADDED.without("path")),
    ),
    must(
        "responses:containers:file-content",
        SOURCE,
        "The content of a container file is returned byte for byte.",
        fault=replaced(replies.FILE_LIFE, 3, Reply(200, CONTENT[:4])),
    ),
    must(
        "responses:containers:file-deleted",
        SOURCE,
        "A deleted container file returns 404.",
        fault=replaced(replies.FILE_LIFE, 5, replies.ADDED),
    ),
    good=replies.FILE_LIFE,
)
def a_file_of_a_container_lives(trial: Trial) -> Steps:
    """Upload a file into a container, retrieve it and its content, delete it."""
    created, path = yield from create(trial)
    exchange = yield from add_file(trial, path)
    file = exchange.json
    is_created = (
        exchange.is_ok and at(file, "object") == "container.file" and is_text(at(file, "id"))
    )
    trial.expect("responses:containers:file-uploaded", is_created, exchange.came)
    trial.succeed(exchange)
    values = [at(file, key) for key in ("bytes", "container_id", "source")]
    is_whole = values == [len(CONTENT), id_of(created.json), "user"] and is_integer(
        at(file, "created_at")
    )
    trial.expect("responses:containers:file-object", is_whole, exchange.came)
    place = str(at(file, "path"))
    is_placed = place.startswith("/mnt/data/") and place.endswith("notes \u00e9.txt")
    trial.expect("responses:containers:file-path", is_placed, exchange.came)
    file_path = f"{path}/files/{id_of(file)}"
    found = yield from trial.get(file_path)
    trial.expect(
        "responses:containers:file-retrieved",
        found.is_ok and at(found.json, "path") == place,
        found.came,
    )
    content = yield from trial.get(f"{file_path}/content")
    is_same = content.is_ok and content.body == CONTENT
    trial.expect("responses:containers:file-content", is_same, preview(content.body.hex()))
    deleted = yield from trial.delete(file_path)
    after = yield from trial.get(file_path)
    trial.expect(
        "responses:containers:file-deleted", deleted.is_ok and after.status == 404, after.came
    )
    yield from trial.delete(path)


@case(
    must(
        "responses:containers:file-attached",
        SOURCE,
        "A request with `file_id` adds a stored file to a container.",
        fault=replaced(replies.FILE_LISTS, 2, replies.ADDED.patched("bytes", to=0)),
    ),
    must(
        "responses:containers:file-listed",
        SOURCE,
        "The files of a container are listed.",
        fault=replaced(replies.FILE_LISTS, 4, replies.page(replies.FILE, "cfile_1")),
    ),
    should(
        "responses:containers:file-paged",
        SOURCE,
        "`limit`, `order` and `after` page through the list of files.",
        fault=replaced(replies.FILE_LISTS, 6, replies.page(replies.FILE, "cfile_1", "cfile_2")),
    ),
    good=replies.FILE_LISTS,
)
def files_of_a_container_are_listed(trial: Trial) -> Steps:
    """Add a stored file and an uploaded one to a container, and list them."""
    stored = yield from upload(trial, "user_data")
    trial.succeed(stored)
    _, path = yield from create(trial)
    first = yield from trial.post(f"{path}/files", {"file_id": id_of(stored.json)})
    is_created = (
        first.is_ok
        and at(first.json, "object") == "container.file"
        and at(first.json, "bytes") == len(CONTENT)
    )
    trial.expect("responses:containers:file-attached", is_created, first.came)
    trial.succeed(first)
    second = yield from add_file(trial, path, b"2")
    trial.succeed(second)
    names = [id_of(first.json), id_of(second.json)]
    page = yield from trial.get(f"{path}/files")
    is_listed = at(page.json, "object") == "list" and sorted(map(str, ids_of(page))) == sorted(
        names
    )
    trial.expect("responses:containers:file-listed", is_listed, page.came)
    one = yield from trial.get(f"{path}/files?order=asc&limit=1")
    rest = yield from trial.get(f"{path}/files?order=asc&limit=1&after={names[0]}")
    is_paged = [ids_of(one), ids_of(rest)] == [[names[0]], [names[1]]] and at(
        one.json, "has_more"
    ) is True
    trial.expect("responses:containers:file-paged", is_paged, [ids_of(one), ids_of(rest)])
    yield from trial.delete(path)
    yield from trial.delete(f"/files/{id_of(stored.json)}")


@case(
    must(
        "responses:containers:unknown",
        SOURCE,
        "An unknown container returns 404.",
        fault=replaced(replies.UNKNOWNS, 1, replies.CREATED),
    ),
    must(
        "responses:containers:unknown-file",
        SOURCE,
        "An unknown container file returns 404.",
        fault=replaced(replies.UNKNOWNS, 3, replies.INVALID),
    ),
    should(
        "responses:containers:no-file",
        SOURCE,
        "A file upload without `file` is rejected with 400.",
        fault=replaced(replies.UNKNOWNS, 4, replies.ADDED),
    ),
    good=replies.UNKNOWNS,
)
def unknown_containers_and_files_are_rejected(trial: Trial) -> Steps:
    """Retrieve an unknown container and an unknown file, and send a form without a file."""
    created, path = yield from create(trial)
    unknown = yield from trial.get(f"{PATH}/{unlike(id_of(created.json))}")
    trial.expect("responses:containers:unknown", unknown.status == 404, unknown.came)
    added = trial.whole((yield from add_file(trial, path)))
    file = yield from trial.get(f"{path}/files/{unlike(id_of(added))}")
    trial.expect("responses:containers:unknown-file", file.status == 404, file.came)
    empty = yield from add_file(trial, path, field="")
    trial.expect("responses:containers:no-file", empty.status == 400, empty.came)
    yield from trial.delete(path)


@case(
    must(
        "responses:containers:no-name",
        SOURCE,
        "A container without a name is rejected with a 4xx.",
        fault=replaced(replies.BAD, 0, replies.CREATED),
    ),
    should(
        "responses:containers:memory-limit",
        SOURCE,
        "An unknown `memory_limit` is rejected with 400.",
        fault=replaced(replies.BAD, 1, replies.CREATED),
    ),
    good=replies.BAD,
)
def bad_containers_are_rejected(trial: Trial) -> Steps:
    """Create a container without a name, and one with 3g of memory."""
    nameless = yield from trial.post(PATH, {})
    trial.supported(nameless)
    trial.expect("responses:containers:no-name", is_refused(nameless), nameless.came)
    large = yield from trial.post(PATH, {"name": NAME, "memory_limit": "3g"})
    trial.expect("responses:containers:memory-limit", large.status == 400, large.came)
