"""How the documentation is built: `make docs`. Warnings are errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from antiphon import __version__

project = "Antiphon"
author = "The Antiphon authors"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinx_copybutton",
    "site_tables",
    "site_api",
    "site_openapi",
    "site_markdown",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = True
smartquotes_action = "q"  # no dashes: `--flag` stays what it is

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

# The Python API. Docstrings have code in single backticks; `site_api` links it to what it names.
default_role = "name"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = False  # Sphinx fails on signatures with more parameters than the source
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
toc_object_entries_show_parents = "hide"

# The copy button copies commands without their prompts.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = project
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["antiphon.css"]
html_copy_source = False
html_show_sourcelink = False
pygments_style = "tango"
pygments_dark_style = "github-dark"
html_theme_options = {
    "sidebar_hide_name": True,  # _templates/sidebar/brand.html shows the name next to the logo
    "top_of_page_buttons": [
        "view"
    ],  # _templates/components/view-this-page.html links the page as Markdown
    "navigation_with_keys": False,
}
