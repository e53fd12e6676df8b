"""How the documentation is built: `make docs`. Warnings are errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from antiphon import __version__

project = "Antiphon"
author = "The Antiphon authors"
copyright = f"2026, {author}"
version = release = __version__

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "site_tables"]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = True

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

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
    "top_of_page_buttons": ["view"],  # _templates/components/view-this-page.html links the page as Markdown
    "navigation_with_keys": False,
}
