"""What `/metrics` says, read as Prometheus reads it."""

from prometheus_client.parser import text_string_to_metric_families

from tests.support.server import RunningServer

Numbers = dict[str, float]
"""Values by `name{label=value,…}`, labels in order of their names, without the worker's."""


def read(text: str) -> Numbers:
    """Return the samples of an exposition; those of several workers are added up."""
    numbers: Numbers = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(
                f"{name}={value}"
                for name, value in sorted(sample.labels.items())
                if name != "worker"
            )
            key = f"{sample.name}{{{labels}}}" if labels else sample.name
            numbers[key] = numbers.get(key, 0.0) + sample.value
    return numbers


async def scrape(server: RunningServer) -> Numbers:
    """Ask the server."""
    async with server.http.get(server.url.removesuffix("/v1") + "/metrics") as response:
        assert response.status == 200
        return read(await response.text())
