"""`antiphon files`: what one command uploads, the others list, get and delete; tenants see their
own alone.
"""

from pathlib import Path

from tests.support.cli import antiphon


async def test_a_file_is_uploaded_listed_read_and_deleted(tmp_path: Path, store_url: str) -> None:
    content = bytes(range(256)) * 5_000
    (tmp_path / "a b.bin").write_bytes(content)
    (tmp_path / "c.txt").write_text("c")
    at = "--store", store_url
    done = await antiphon(
        tmp_path,
        "files",
        "upload",
        "a b.bin",
        "c.txt",
        "--purpose",
        "batch",
        "--tenant",
        "acme",
        *at,
    )
    assert done.code == 0, done.err
    file_id = done.out.split()[0]
    listed = await antiphon(tmp_path, "files", "list", "--tenant", "acme", *at)
    assert all(
        word in listed.out for word in (file_id, "a b.bin", "1,280,000", "batch", "c.txt")
    ), listed.out
    assert (await antiphon(tmp_path, "files", "list", *at)).out == "There are no files.\n"
    done = await antiphon(tmp_path, "files", "get", file_id, "copy.bin", "--tenant", "acme", *at)
    assert (done.code, (tmp_path / "copy.bin").read_bytes() == content) == (0, True)
    again = await antiphon(tmp_path, "files", "get", file_id, "--tenant", "acme", *at)
    assert (again.code, "a b.bin cannot be written: File exists." in again.err) == (2, True)
    assert (await antiphon(tmp_path, "files", "delete", file_id, *at)).code == 2
    assert (await antiphon(tmp_path, "files", "delete", file_id, "--tenant", "acme", *at)).code == 0
    assert file_id not in (await antiphon(tmp_path, "files", "list", "--tenant", "acme", *at)).out


async def test_what_cannot_be_uploaded_is_named(tmp_path: Path) -> None:
    at = "--store", f"sqlite://{tmp_path}/a.db"
    done = await antiphon(tmp_path, "files", "upload", "none.txt", *at)
    assert (done.code, "none.txt cannot be read: No such file or directory." in done.err) == (
        2,
        True,
    )
    done = await antiphon(tmp_path, "files", "upload", "none.txt", "--purpose", "all", *at)
    assert (done.code, "Choose one of: assistants, batch" in done.err) == (2, True)


async def test_content_is_in_the_directory_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "antiphon.toml").write_text(
        f'store = "sqlite://{tmp_path}/a.db"\nfile_storage = "{tmp_path}/content"\n'
    )
    (tmp_path / "c.txt").write_text("c")
    done = await antiphon(tmp_path, "files", "upload", "c.txt")
    assert done.code == 0, done.err
    assert [path.read_text() for path in (tmp_path / "content").glob("*/dir_*")] == ["c"]
