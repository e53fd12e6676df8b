"""Sets of versions."""

from versions.pins import bounds, different, lines, lowest, parse, pinned


def test_names_are_compared_in_their_normal_form() -> None:
    assert parse("# a comment\nBackports.Zstd==1.8.0\ncertifi==2026.10.19.post1\n") == {
        "backports-zstd": "1.8.0",
        "certifi": "2026.10.19.post1",
    }


def test_constraints_are_read_as_they_are_written() -> None:
    assert parse(lines({"b": "2", "a": "1.0"})) == {"a": "1.0", "b": "2"}


def test_only_versions_that_both_have_can_differ() -> None:
    assert different({"a": "1", "b": "3", "c": "1"}, {"a": "1", "b": "2"}) == {"b": ("2", "3")}


def test_every_range_is_pinned_and_has_a_lowest_version() -> None:
    assert {*bounds()} <= pinned().keys()
    assert {*bounds()} <= lowest().keys()
