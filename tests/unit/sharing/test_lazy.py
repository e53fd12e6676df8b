"""A part that is made on first use."""

from antiphon.sharing.lazy import Lazy


def test_a_part_is_created_once_by_its_first_use() -> None:
    created = list[object]()

    def make() -> object:
        created.append(object())
        return created[-1]

    part = Lazy(make)
    before = part.created

    first = part.get()
    second = part.get()

    assert before is None
    assert created == [first] == [second] == [part.created]


def test_a_part_that_could_not_be_created_is_tried_again() -> None:
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
        assert part.created is None

    assert part.get() == 4
