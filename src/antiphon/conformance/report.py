"""What is told of a run: the report as data, and as JSON."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from antiphon.conformance.exchange import Exchange, Request
from antiphon.conformance.reading import legible
from antiphon.conformance.requirement import CaseOutcome, Kind, Level
from antiphon.errors import ConfigError


class Shown(msgspec.Struct, frozen=True):
    """An exchange as it is shown: secrets masked, long bodies cut."""

    request: str
    """The method and path, the headers, and the body."""
    answer: str
    """The status, the headers, and the body; or why there is none."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one requirement."""

    id: str
    level: Level
    kind: Kind
    source: str
    sentence: str
    outcome: CaseOutcome
    came: str = ""
    """What was wrong, why it was skipped, or how the server says that it lacks it."""
    known: str = ""
    """Why the profile says that this server breaks it; empty where it says nothing."""
    exchanges: tuple[Shown, ...] = ()
    """Of a failure: what was asked and answered."""

    @property
    def area(self) -> str:
        """`responses:stream` of `responses:stream:item-done-once`."""
        return self.id.rpartition(":")[0]

    @property
    def is_breach(self) -> bool:
        """Whether this makes the server non-conformant: a `must` of the protocol that is broken, and no known one."""
        return self.outcome == "failed" and self.level == "must" and self.kind == "protocol"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One run against one server."""

    version: str
    """Antiphon's version."""
    base_url: str
    model: str
    profile: str = ""
    started_at: int
    """Seconds since 1970."""
    seconds: float
    requests: int
    results: tuple[Result, ...]

    @property
    def conforms(self) -> bool:
        """Whether every `must` that was judged holds, and any was."""
        return not any(result.is_breach for result in self.results) and any(
            result.outcome == "passed" and result.level == "must" for result in self.results
        )

    def counted(self, results: Iterable[Result] | None = None) -> dict[CaseOutcome, int]:
        """Return how many results have each outcome; of all, or of these."""
        counts: dict[CaseOutcome, int] = {"passed": 0, "failed": 0, "not offered": 0, "skipped": 0}
        for result in self.results if results is None else results:
            counts[result.outcome] += 1
        return counts

    def by_area(self, kind: Kind = "protocol") -> dict[str, list[Result]]:
        """Return the results of one kind by their areas, in the order of the requirements."""
        areas: dict[str, list[Result]] = {}
        for result in self.results:
            if result.kind == kind:
                areas.setdefault(result.area, []).append(result)
        return areas


def encode_report(report: Report) -> bytes:
    """Return the report as JSON."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def decode_reports(files: Sequence[tuple[str, bytes]]) -> list[Report]:
    """Return the reports of some files, given by name and bytes. Raises `ConfigError` for what is no report."""
    return [_decode(name, data) for name, data in files]


def _decode(name: str, data: bytes) -> Report:
    try:
        return msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name} is no report of 'antiphon verify --json': {error}") from error


LONGEST = 4000
"""Characters of a body that are shown."""


def shown(exchange: Exchange) -> Shown:
    """Return an exchange as a report shows it."""
    return Shown(request=legible(_request(exchange.request)), answer=legible(_answer(exchange)))


def raw(exchange: Exchange) -> bytes:
    """Return an exchange with every byte of its bodies."""
    request = exchange.request
    asked = legible("\n".join([f"{request.method} {request.path}", *_lines(request.headers)]))
    told = legible("\n".join([str(exchange.status), *_lines(exchange.headers)]))
    fault = f"[{exchange.fault}]\n".encode() if exchange.fault else b""
    return b"\n\n".join([asked.encode(), request.data, told.encode(), exchange.body + b"\n" + fault])


def _request(request: Request) -> str:
    head = [f"{request.method} {request.path}", *_lines(request.headers)]
    return _joined(head, request.data)


def _answer(exchange: Exchange) -> str:
    head = [f"{exchange.status}" if exchange.status else "no answer"]
    head += _lines(exchange.headers)
    return _joined(head, exchange.body) + (f"\n[{exchange.fault}]" if exchange.fault else "")


def _lines(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def _joined(head: list[str], body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n[{len(text) - LONGEST} more characters]"
    return "\n".join(head) + (f"\n\n{text}" if text else "")
