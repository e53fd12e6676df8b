"""The version of this package: `src/antiphon/version.py` of the repository defines it, for the
server too.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("antiphon-verify")
except PackageNotFoundError:  # the sources are on the path of imports, without an installation
    __version__ = "0+source"
