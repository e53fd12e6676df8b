"""How the documentation is built: `make docs`, warnings are errors."""

from antiphon import __version__

project = "Antiphon"
author = "The Antiphon authors"
copyright = f"2026, {author}"
version = release = __version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

html_theme = "alabaster"
html_title = f"{project} {version}"
html_show_sourcelink = False
html_theme_options = {
    "description": "The complete, stateful OpenAI Responses API over any Chat Completions backend",
    "fixed_sidebar": True,
    "page_width": "1080px",
    "show_powered_by": False,
}
