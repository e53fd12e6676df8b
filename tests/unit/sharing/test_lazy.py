"""A part that is made on first use."""

from antiphon.sharing.lazy import Lazy


def test_a_part_is_made_once_by_its_first_use() -> None:
    made = list[object]()

    def make() -> object:
        made.append(object())
        return made[-1]

    part = Lazy(make)
    before = part.made

    first, second = part.get(), part.get()

    assert before is None
    assert made == [first] == [second] == [part.made]


def test_a_part_that_could_not_be_made_is_tried_again() -> None:
    answers = iter([None, 4])

    def make() -> int:
        answer = next(answers)
        if answer is None:
            raise OSError("busy")
        return answer

    part = Lazy(make)
    try:
        part.get()
    except OSError:
        assert part.made is None

    assert part.get() == 4
