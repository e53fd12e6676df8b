"""What the extensions of the documentation do with a small page."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.site import ROOT, load

pytest.importorskip(
    "furo", reason="the documentation's packages are not installed: make docs installs them"
)

PAGE = """# A page

Its summary. More.

````{tab-set-code}
```{literalinclude} call.py
:language: python
```

```{code-block} sh
curl http://127.0.0.1:8321/v1/models
```
````

::::{tab-set}
:sync-group: language

:::{tab-item} TypeScript
:sync: ts

```ts
const one = 1;
```
:::
::::

| Setting | Meaning | Default |
|---|---|---|
| `store_connections_of_the_server` | how many \\| which | |

```{warning}
It loses **data**.
```

See [the other page](other.md#there).

```text
One line of output
```

```text
id    name
key_  ada
```

```{eval-rst}
.. structs:: antiphon

   PromptConfig
```
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    out = tmp_path_factory.mktemp("out")
    (source / "index.md").write_text(PAGE + "\n```{toctree}\n:hidden:\n\nother\n```\n")
    (source / "other.md").write_text("# Other\n\n## There\n\nHere.\n")
    (source / "call.py").write_text("print(1)\n")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "--quiet",
        "-c",
        str(ROOT / "docs"),
        str(source),
        str(out),
    ]
    subprocess.run(command, check=True, timeout=120)
    return out


def test_tabs_are_titled_blocks_with_their_languages(built: Path) -> None:
    text = (built / "index.md").read_text()

    assert "```python\nprint(1)\n```" in text
    assert "```sh\ncurl http://127.0.0.1:8321/v1/models\n```" in text
    assert "**TypeScript**\n\n```ts\nconst one = 1;\n```" in text


def test_tables_boxes_and_links_are_plain(built: Path) -> None:
    text = (built / "index.md").read_text()

    assert "| `store_connections_of_the_server` | how many \\| which |  |" in text
    assert "> **Warning**\n>\n> It loses **data**." in text
    assert "[the other page](other.md#there)" in text


def test_cells_have_the_label_of_their_column_and_long_code_may_break(built: Path) -> None:
    html = (built / "index.html").read_text()

    assert 'data-label="Meaning"' in html
    assert "store_<wbr>connections_<wbr>of_<wbr>the_<wbr>server" in html
    assert (
        'class="empty" data-label="Default"' in html or 'data-label="Default" class="empty"' in html
    )
    assert "columns-3" in html


def test_lines_of_output_wrap_but_not_columns(built: Path) -> None:
    html = (built / "index.html").read_text()
    assert 'class="wrapped highlight-text' in html.partition("One line of output")[0]
    assert html.count("wrapped") == 1


def test_a_class_of_fields_is_a_table(built: Path) -> None:
    text = (built / "index.md").read_text()

    assert "```python\nclass PromptConfig\n```" in text
    assert "| Field | Type | Default | Meaning |" in text


def test_llms_txt_has_the_first_sentence(built: Path) -> None:
    assert "- [Other](other.md): Here." in (built / "llms.txt").read_text()


@pytest.mark.parametrize(
    ("code", "html"),
    [
        ("ANTIPHON_STORE_CONNECTIONS", "ANTIPHON_<wbr>STORE_<wbr>CONNECTIONS"),
        ("a_b_c_d_e_f_g_h_i_j", "a_b_c_d_e_f_g_h_i_j"),
        ("<script>alert</script>", "&lt;script&gt;alert&lt;/<wbr>script&gt;"),
    ],
)
def test_code_breaks_after_punctuation_only(code: str, html: str) -> None:
    assert load("site_tables").breakable(code) == html
