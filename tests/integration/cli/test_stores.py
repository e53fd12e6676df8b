"""`antiphon stores`: a folder becomes a vector store, which is brought up to date and searched."""

from pathlib import Path

import pytest

from antiphon.cli.store_folder import add
from antiphon.ids import new_id, now
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import StoredVectorStore
from antiphon.upstream.demo.backend import DemoBackend
from tests.support.cli import antiphon
from tests.support.command import Done
from tests.support.server import serve


async def stores(home: Path, *arguments: str) -> Done:
    flags = ("--store", f"sqlite://{home}/a.db")
    return await antiphon(home, "stores", *arguments, *flags)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files to read, one that cannot be read, and a hidden one."""
    found = tmp_path / "notes"
    (found / "deep" / ".git").mkdir(parents=True)
    (found / "paris.txt").write_text("Paris is the capital of France.")
    (found / "deep" / "rome.md").write_text("# Rome\n\nRome is the capital of Italy.")
    (found / "deep" / ".git" / "hidden.txt").write_text("hidden")
    return found


@pytest.mark.wide
async def test_a_folder_is_added_once_and_then_what_has_changed(
    tmp_path: Path, folder: Path
) -> None:
    first = await stores(tmp_path, "add", str(folder))
    assert (first.code, first.out.split(": ")[1]) == (0, "2 added, 0 unchanged, 0 failed.\n")
    again = await stores(tmp_path, "add", str(folder))
    assert again.out == first.out.replace("2 added, 0 unchanged", "0 added, 2 unchanged")

    (folder / "paris.txt").write_text("Paris has the Eiffel Tower.")
    (folder / "berlin.txt").write_text("Berlin is the capital of Germany.")
    changed = await stores(tmp_path, "add", str(folder))
    assert "2 added, 1 unchanged, 0 failed." in changed.out
    found = await stores(tmp_path, "search", "notes", "capital")
    assert sorted(line.split("  ")[1] for line in found.out.splitlines()) == [
        "berlin.txt",
        "deep/rome.md",
    ]


@pytest.mark.wide
async def test_a_file_that_cannot_be_read_is_named_and_tried_again(
    tmp_path: Path, folder: Path
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    first = await stores(tmp_path, "add", str(folder), "--into", "mine")
    assert first.code == 1
    assert "2 added, 0 unchanged, 1 failed." in first.out
    assert "broken.pdf: " in first.err
    (folder / "broken.pdf").unlink()
    (folder / "broken.txt").write_text("It was broken.")
    second = await stores(tmp_path, "add", str(folder), "--into", "mine")
    assert (second.code, "1 added, 2 unchanged, 0 failed." in second.out) == (0, True)


@pytest.mark.wide
async def test_stores_are_listed_and_reindexed(tmp_path: Path, folder: Path) -> None:
    assert "There are no vector stores" in (await stores(tmp_path, "list")).out
    await stores(tmp_path, "add", str(folder))
    listed = (await stores(tmp_path, "list")).out
    assert "notes" in listed
    assert listed.splitlines()[-1].strip().startswith("vs_")
    assert "Files to ingest again: 2." in (await stores(tmp_path, "reindex", "notes")).out
    assert "0 added, 2 unchanged" in (await stores(tmp_path, "add", str(folder))).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "nowhere"), "nowhere does not exist."),
        (("search", "none", "x"), "The vector store 'none' does not exist."),
        (("reindex", "none"), "The vector store 'none' does not exist."),
    ],
)
async def test_what_does_not_exist_is_named(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = await stores(tmp_path, *arguments)
    assert (done.code, message in done.err) == (2, True)


async def test_a_file_that_the_system_does_not_open_is_named_and_the_others_are_added(
    folder: Path,
) -> None:
    async with serve(DemoBackend()) as server:
        store = StoredVectorStore(new_id("vs"), "", int(now()), "notes")
        await server.parts.store.write(vector_stores.create, store)
        paths = [("gone.txt", folder / "gone.txt"), ("paris.txt", folder / "paris.txt")]
        result = await add(server.parts, store, paths, lambda done, total: None)

    assert (result.added, result.failed) == (
        1,
        [("gone.txt", "The file cannot be read: No such file or directory.")],
    )
