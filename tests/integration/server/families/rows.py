"""The rows: each family at each of its dialects, in each of their ways, plain and streamed."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.integration.server.families.family import Family
from tests.integration.server.families.otherwise import WRITTEN
from tests.integration.server.families.refused import REFUSED


class Row(NamedTuple):
    """One of the rows; `model` is its own."""

    name: str
    family: Family
    dialect: str
    way: str
    stream: bool
    model: str

    @property
    def mode(self) -> str:
        return "streamed" if self.stream else "plain"

    @property
    def is_guard(self) -> bool:
        """Whether it passed before."""
        guards = self.family.guards
        return self.mode in guards or f"{self.dialect}-{self.way}".startswith(guards or ("-",))


def _rows() -> Iterator[Row]:
    for name, family in (REFUSED | WRITTEN).items():
        for dialect, ways in family.at.items():
            for way in ways.split():
                for stream in (False, True):
                    model = (
                        f"{family.model}-{name}-{dialect}-{way}-{stream}".lower()
                        .replace(" ", "-")
                        .replace("'", "")
                    )
                    yield Row(name, family, dialect, way, stream, model)


ROWS = [*_rows()]
DIALECTS = sorted({row.dialect for row in ROWS})
