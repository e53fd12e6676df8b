"""How much an act about chunks announces, since large reads are made beside the event loop."""

from antiphon.storage.operations.chunks import FEW_VECTORS, vectors
from antiphon.storage.operations.step import ReadSize


def test_many_vectors_are_read_outside_of_the_event_loop() -> None:
    step = next(vectors("t", range(FEW_VECTORS + 1)))
    assert isinstance(step, ReadSize) and step.is_large
    assert not isinstance(next(vectors("t", range(FEW_VECTORS))), ReadSize)
