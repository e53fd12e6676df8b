import threading

import pytest

from antiphon.stack import with_room


def test_what_is_done_with_room_returns_and_raises_as_if_done_here() -> None:
    def fail() -> None:
        raise KeyError("x")

    assert with_room(lambda: 1) == 1
    with pytest.raises(KeyError):
        with_room(fail)


def test_other_threads_keep_the_stack_that_they_would_have() -> None:
    before = threading.stack_size()
    with_room(lambda: None)
    assert threading.stack_size() == before
