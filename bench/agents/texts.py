"""Texts of any length, the same in every run: prose as a model or a user writes it, and what a
terminal prints.
"""

import base64
import random
from collections.abc import Callable
from functools import cache
from io import StringIO

LENGTH = 200_000
"""Characters that are generated once; each text is a piece of them."""

STEP = 7_919
"""Characters between the beginnings of two texts: a prime, so that no two of a body begin alike."""

_WORDS = (
    "a the this each another file line test value name list table number result error change "
    "reason place of in from with before after between without and or but because reads writes "
    "returns calls needs keeps holds begins ends first last new empty small large same other only "
    "again still already here then — …"
)

_LINES = (
    "src/{0}/{1}.py:{2}: {3} = self._{1}.get({4!r}, {2})",
    "\tif ({0} := {1}.find(\"{3}\")) < {2}:\n\t\traise ValueError(f'{0} of {4}')",
    "-rw-r--r-- 1 user user {2:>6} Nov 22 10:{5:02d} {0}_{1}.txt",
    "{5:>4}  def {0}_{1}({3}: str, {4}: int = {2}) -> None:",
    "tests/test_{0}.py::test_{1}_{3} PASSED → {5} %",
    "",
)


def prose(length: int, seed: int = 0) -> str:
    """Return so many characters of sentences."""
    return _piece(_prose(), length, seed)


def printed(length: int, seed: int = 0) -> str:
    """Return so many characters of a terminal's output: paths, code and quotes, some 3 % of it
    escaped in JSON.
    """
    return _piece(_printed(), length, seed)


def picture(size: int) -> str:
    """Return a data URL of so many bytes, of a picture that nobody can look at."""
    head = "data:image/png;base64,"
    data = b"\x89PNG\r\n\x1a\n" + random.Random(size).randbytes((size - len(head)) // 4 * 3 - 8)
    return head + base64.b64encode(data).decode()


def _piece(whole: str, length: int, seed: int) -> str:
    begin = seed * STEP % LENGTH
    while len(whole) < begin + length:
        whole += whole
    return whole[begin : begin + length]


@cache
def _prose() -> str:
    chance = random.Random(1)
    words = _WORDS.split()

    def sentence() -> str:
        text = " ".join(chance.choices(words, k=chance.randint(4, 20)))
        return text.capitalize() + chance.choice((". ", ". ", ".\n", ":\n- "))

    return _filled(sentence)


@cache
def _printed() -> str:
    chance = random.Random(2)
    words = [word for word in _WORDS.split() if word.isalpha()]

    def line() -> str:
        first, second, third, fourth = chance.choices(words, k=4)
        number = chance.randint(0, 9_999)
        short = chance.randint(0, 59)
        return chance.choice(_LINES).format(first, second, number, third, fourth, short) + "\n"

    return _filled(line)


def _filled(part: Callable[[], str]) -> str:
    text = StringIO()
    while text.tell() < LENGTH:
        text.write(part())
    return text.getvalue()[:LENGTH]
