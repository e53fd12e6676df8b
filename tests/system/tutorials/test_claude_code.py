"""The tutorial of Claude Code runs from start to end with the scripted model, where npm can install
Claude Code.
"""

from pathlib import Path

import pytest

from tests.support.doc_blocks import ROOT
from tests.system.clients.claude import install
from tests.system.docs.test_code_blocks import run, why_not

PAGE = ROOT / "docs/get-started/claude-code-on-a-local-model.md"
MARK = f"<!-- checked by: {Path(__file__).relative_to(ROOT)} -->\n"


@pytest.mark.timeout(700)
def test_the_blocks_of_the_tutorial_run(tmp_path: Path) -> None:
    if why_not():
        pytest.skip(f"no network namespace: {why_not()}")
    claude = install()
    text = PAGE.read_text().replace(f"{MARK}```text", "<!-- output -->\n```text").replace(MARK, "")
    text = text.replace(
        "npm install -g @anthropic-ai/claude-code\nollama pull qwen3:8b\n",
        f"PATH=$PATH:{claude.parent}\n",
    )
    page = tmp_path / PAGE.name
    page.write_text(text)
    done = run(page, tmp_path)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
