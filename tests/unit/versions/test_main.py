"""What the table of `make test-versions` says of each environment."""

from versions.__main__ import Result, summary_of


def test_the_numbers_of_a_run_are_found_whatever_follows_them() -> None:
    summary = summary_of(
        "......\n385 passed, 1956 deselected in 26.02s\nFuture exception was never "
        "retrieved\nBroken\n\n"
    )
    assert summary == "385 passed, 1956 deselected in 26.02s"
    assert Result(0, summary, 1.0).count("passed") == 385
    assert Result(0, summary, 1.0).count("failed") == 0


def test_a_run_without_numbers_is_described_by_its_last_line() -> None:
    assert summary_of("ERROR: usage: ...\nno such file\n") == "no such file"
    assert summary_of("") == ""
