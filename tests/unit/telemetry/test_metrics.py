"""Counters, gauges and histograms, as plain numbers."""

from antiphon.telemetry.kinds import (
    Counter,
    Family,
    Gauge,
    Histogram,
    Metric,
    ObservedNumbers,
    Sample,
    families,
)
from antiphon.telemetry.metrics import Measures


def values(metric: Metric) -> dict[tuple[str, ...], float]:
    return {tuple(one.labels.values()): one.value for one in metric.samples()}


def test_a_counter_counts_each_combination_of_labels() -> None:
    counter = Counter("c", "", "a", "b")
    counter.add("x", "y")
    counter.add("x", "y", by=2)
    counter.add("x", "z")

    assert values(counter) == {("x", "y"): 3, ("x", "z"): 1}
    assert (counter.value("x", "y"), counter.value("never", "seen")) == (3, 0)


def test_a_gauge_goes_down_again() -> None:
    gauge = Gauge("g", "", "a")
    gauge.add("x")
    gauge.add("x", by=-1)

    assert values(gauge) == {("x",): 0}


def test_a_histogram_counts_each_observation_in_the_first_bucket_that_holds_it() -> None:
    histogram = Histogram("h", "", "a", bounds=(0.5, 1.0))
    for seconds in (0.25, 0.5, 0.75, 8.0):
        histogram.observe(seconds, "x")

    assert list(histogram.samples()) == [Sample({"a": "x"}, 9.5, (2, 1, 1))]


def test_figures_of_other_processes_are_read_each_time() -> None:
    found = {("x",): 1.0}
    gauge = ObservedNumbers("g", "", "a", poll_once=lambda: found)
    counter = ObservedNumbers("c", "", "a", poll_once=lambda: found, kind="counter")

    assert (values(gauge), values(counter)) == ({("x",): 1}, {("x",): 1})
    found["x",] = 2
    assert values(gauge) == {("x",): 2}


def test_uncounted_figures_have_no_numbers() -> None:
    assert [sample for one in Measures().all() for sample in one.samples()] == []


def test_every_name_is_used_once_and_has_its_unit() -> None:
    """A histogram measures time; a counter can add up time, and is published as
    `…_seconds_total`.
    """
    metrics = Measures().all()

    assert len({one.name for one in metrics}) == len(metrics)
    for one in metrics:
        kind = (
            "counter"
            if one.name in {"antiphon_code_seconds", "antiphon_tenant_code_seconds"}
            else "histogram"
        )
        assert one.name.endswith("_seconds") == (one.kind == kind), one.name


def test_a_metric_family_has_the_labels_of_its_source() -> None:
    counter = Counter("c", "text", "a")
    counter.add("x")

    assert families([counter], worker="3") == [
        Family("c", "counter", "text", [Sample({"a": "x", "worker": "3"}, 1)])
    ]
