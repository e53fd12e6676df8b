"""Metrics as text, read back as Prometheus reads it."""

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from antiphon.telemetry.exposition import PIECE, exposition
from antiphon.telemetry.kinds import Counter, Family, Gauge, Histogram, Metric, families
from antiphon.telemetry.metrics import MOST_MODELS, Measures
from tests.support.metrics import read


def text(*metrics: Metric) -> str:
    return "".join(exposition(families(metrics)))


def test_a_counter_and_a_gauge_have_their_names_types_and_numbers() -> None:
    counter = Counter("c", "Some text.", "a")
    gauge = Gauge("g", "More text.")
    counter.add("x", by=2)
    gauge.add(by=-0.5)

    assert text(counter, gauge) == (
        '# HELP c_total Some text.\n# TYPE c_total counter\nc_total{a="x"} 2.0\n'
        "# HELP g More text.\n# TYPE g gauge\ng -0.5\n"
    )


def test_the_buckets_of_a_histogram_add_up() -> None:
    histogram = Histogram("h", "Text.", "a", bounds=(0.5, 1.0))
    for seconds in (0.25, 0.5, 0.75, 8.0):
        histogram.observe(seconds, "x")

    assert read(text(histogram)) == {
        "h_bucket{a=x,le=0.5}": 2,
        "h_bucket{a=x,le=1.0}": 3,
        "h_bucket{a=x,le=+Inf}": 4,
        "h_count{a=x}": 4,
        "h_sum{a=x}": 9.5,
    }


def test_a_histogram_without_labels_has_only_its_bounds() -> None:
    histogram = Histogram("h", "", bounds=(0.5,))
    histogram.observe(0.1)

    assert read(text(histogram)) == {
        "h_bucket{le=0.5}": 1,
        "h_bucket{le=+Inf}": 1,
        "h_count": 1,
        "h_sum": 0.1,
    }


def test_no_label_and_no_text_leaves_its_line() -> None:
    odd = 'a"b\\c\nd{e}'
    counter = Counter("c", "One\nTwo\\", "a")
    counter.add(odd)
    (family,) = text_string_to_metric_families(text(counter))

    assert family.samples[0].labels == {"a": odd}
    assert family.documentation == "One\nTwo\\"


def test_families_of_several_processes_become_one() -> None:
    counter = Counter("c", "", "a")
    counter.add("x")
    both = "".join(exposition([*families([counter], worker="0"), *families([counter], worker="1")]))

    assert both.count("# TYPE") == 1
    assert both.count("c_total{") == 2


@pytest.mark.wide
def test_the_longest_text_arrives_in_pieces_without_delay() -> None:
    measures = Measures()
    for number in range(MOST_MODELS):
        for backend in "ab":
            measures.first_token.observe(1.0, backend, f"model-{number}")
        measures.duration.observe(1.0, f"model-{number}")
    counted = [family for worker in "0123" for family in families(measures.all(), worker=worker)]
    pieces = []
    began = time.thread_time()
    for piece in exposition(counted):
        pieces.append((time.thread_time() - began, piece))
        began = time.thread_time()

    assert len(read("".join(piece for _, piece in pieces))) >= MOST_MODELS * 3 * 16
    assert max(piece.count("_count{") for _, piece in pieces) <= PIECE
    assert (
        sorted(took for took, _ in pieces)[-2] < 0.02
    )  # one may have been in a collection of garbage


def test_a_family_that_travelled_between_processes_reads_the_same() -> None:
    import msgspec  # noqa: PLC0415

    measures = Measures()
    measures.duration.observe(0.1, "m")
    sent = families([measures.duration], worker="1")
    arrived = msgspec.json.decode(msgspec.json.encode(sent), type=list[Family])

    assert "".join(exposition(arrived)) == "".join(exposition(sent))
