"""The numbers by which a model cites: those of the conversation stay, and new sources come behind
them.
"""

from antiphon.protocol.sources import CitedFile, SourceNumbers, read_sources


def test_known_sources_keep_their_numbers_and_new_ones_continue() -> None:
    passage = CitedFile("file-1", "a.txt")
    numbers = SourceNumbers({"https://a.example": "A", "file-0#3": None})
    provided = [
        ("file-1#0", passage),
        ("https://a.example", "another title"),
        ("https://b.example", "B"),
        ("file-1#0", passage),
    ]
    assert [numbers.number_of(*one) for one in provided] == [3, 1, 4, 3]
    assert numbers.new == {"file-1#0": passage, "https://b.example": "B"}


def test_sources_are_returned_as_stored() -> None:
    stored = {
        "https://a.example": "A",
        "file-1#0": {"file_id": "file-1", "filename": "a.txt"},
        "gone": None,
    }
    assert read_sources(stored) == {
        "https://a.example": "A",
        "file-1#0": CitedFile("file-1", "a.txt"),
        "gone": None,
    }
