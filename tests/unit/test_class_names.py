"""A class has a name of its own, so that a reader who searches for it finds one class."""

import re
from collections import Counter

from tests.support.rules import ROOT

MOST = 15
"""Names that several modules share: the library names its classes like the objects of the server,
and a few published ones stay.
"""

CLASS = re.compile(r"^ *class ([A-Za-z]\w*)", re.MULTILINE)


def test_few_classes_have_the_name_of_another() -> None:
    paths = (ROOT / "src/antiphon").rglob("*.py")
    counts = Counter(name for path in paths for name in set(CLASS.findall(path.read_text("utf-8"))))
    shared = sorted(name for name, modules in counts.items() if modules > 1)

    assert len(counts) > 1_000
    assert len(shared) <= MOST, shared
