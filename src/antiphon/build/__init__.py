"""Builds the parts of a server from the settings: the only package that imports all of them."""

from antiphon.build.backends import check_backends, demo_backend
from antiphon.build.keys import open_keyring
from antiphon.build.server import Application, build
from antiphon.build.tools import toolset_of, web_search_of
from antiphon.build.tracing import collector_of

__all__ = [
    "Application",
    "build",
    "check_backends",
    "collector_of",
    "demo_backend",
    "open_keyring",
    "toolset_of",
    "web_search_of",
]
