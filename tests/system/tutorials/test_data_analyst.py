"""The tutorial of the data analyst runs from start to end, where a sandbox and pandas are at
hand.
"""

from pathlib import Path

import pytest

from tests.support.code_environment import PYTHON, needs_pandas, needs_sandbox
from tests.support.doc_blocks import ROOT
from tests.system.docs.test_code_blocks import run, why_not

PAGE = ROOT / "docs/get-started/data-analyst.md"
MARK = f"<!-- checked by: {Path(__file__).relative_to(ROOT)} -->\n"


@needs_sandbox
@needs_pandas
@pytest.mark.timeout(400)
def test_the_blocks_of_the_tutorial_run(tmp_path: Path) -> None:
    if why_not():
        pytest.skip(f"no network namespace: {why_not()}")
    text = PAGE.read_text().replace(f"{MARK}```text", "<!-- output -->\n```text").replace(MARK, "")
    text = text.replace("sudo apt-get install bubblewrap\n", "")
    page = tmp_path / PAGE.name
    page.write_text(f"<!-- run: ln -s {PYTHON.parents[1]} .venv-code -->\n{text}")
    done = run(page, tmp_path)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert (tmp_path / "antiphon/examples/analyst/revenue.png").read_bytes().startswith(b"\x89PNG")
