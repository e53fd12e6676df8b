"""Every code block of every page runs, or says why it cannot: a third of the pages in each run, all
at night.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.support.doc_blocks import PAGES, ROOT, Block, blocks, matches
from tests.support.doc_session import prepared

AS_ROOT = () if os.geteuid() == 0 else ("--map-root-user",)
OWN_NETWORK = ("unshare", *AS_ROOT, "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
LANGUAGES = {
    "sh",
    "toml",
    "json",
    "yaml",
    "text",
    "python",
    "ini",
    "nginx",
    "html",
    "run",
    "mermaid",
}


@cache
def why_not() -> str:
    """Why the pages cannot run here, such as a missing program; empty if they can."""
    missing = [
        program for program in ("unshare", "bash", "curl", "jq") if shutil.which(program) is None
    ]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return subprocess.run(
        [*OWN_NETWORK, "true"], capture_output=True, text=True, check=False
    ).stderr.strip()


def run(page: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [
        *OWN_NETWORK,
        sys.executable,
        "-m",
        "tests.support.doc_session",
        str(page),
        str(folder),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _rotates(page: Path) -> bool:
    """Whether not every run needs the page: the first ones that a user reads run each time, and the
    one that prints figures of `verify/`.
    """
    return (
        page.name not in {"README.md", "check-conformance.md"} and page.parent.name != "get-started"
    )


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.rotating] * _rotates(page)) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    if not any(block.language != "text" for block in blocks(page.read_text())):
        return
    if why_not():
        pytest.skip(f"the pages cannot run: {why_not()}")
    done = run(page, tmp_path)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_block_names_a_language_that_is_run_or_read(page: Path) -> None:
    unknown = [(block.line, block.language) for block in blocks(page.read_text())]
    assert [
        (line, name) for line, name in unknown if name not in LANGUAGES and not name.startswith("{")
    ] == []


WRONG = {
    "exit code": "```sh\nfalse\n```\n",
    "the output is": "```sh\necho one\n```\n\n<!-- output -->\n```text\ntwo\n```\n",
    "exit code 0": "<!-- exit: 2 -->\n```sh\ntrue\n```\n",
    "Makefile has no": "```sh\nmake nothing-like-it\n```\n",
    "no extras": "```sh\npip install 'antiphon[nothing]'\n```\n",
    "no_such_setting": "```toml\nno_such_setting = 1\n```\n",
    "Expecting": "```json\n{\n```\n",
    "temprature": '```json\n{"model": "demo", "input": "a", "temprature": 1}\n```\n',
    "there is no test": "<!-- checked by: tests/nowhere.py -->\n```sh\ntrue\n```\n",
}


@pytest.mark.parametrize(("complaint", "text"), WRONG.items(), ids=[*WRONG])
def test_a_wrong_block_is_reported_with_its_line(complaint: str, text: str, tmp_path: Path) -> None:
    if why_not():
        pytest.skip(f"the pages cannot run: {why_not()}")
    page = tmp_path / "page.md"
    page.write_text(text)
    done = run(page, tmp_path)
    assert (done.returncode, complaint in done.stdout) == (1, True), done.stdout + done.stderr


def test_comments_belong_to_the_block_after_them() -> None:
    page = (
        "<!-- run: cd x -->\n<!-- file: a.toml -->\n```toml\na = 1\n```\n\n  ```sh\n  ls\n  ```\n"
    )
    assert list(blocks(page)) == [
        Block("run", "cd x", 1),
        Block("toml", "a = 1\n", 3, {"file": "a.toml"}),
        Block("sh", "ls\n", 7),
    ]


def test_three_dots_match_anything() -> None:
    assert matches("a ... c\n...\nd", "a b c\n1\n2\nd\n")
    assert not matches("a ... c", "a b d")


def test_a_server_is_started_by_its_command() -> None:
    script, ports = prepared(
        'antiphon serve \\\n  --port 9000   # comment\nmake serve ARGS="--backend '
        'http://a/v1"\nls\n'
    )
    assert ports == {9000, 8321}
    assert [line for line in script.splitlines() if not line.startswith("__")] == [
        "antiphon serve  --port 9000",
        "antiphon serve --backend http://a/v1",
        "ls",
    ]
