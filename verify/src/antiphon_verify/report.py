"""The report of a run as data, and as JSON."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from antiphon_verify.errors import VerifyError
from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.reading import legible
from antiphon_verify.requirement import LEVELS, CaseOutcome, Kind, Level
from antiphon_verify.version import __version__


class Shown(msgspec.Struct, frozen=True):
    """An exchange for display: secrets masked, long bodies truncated."""

    request: str
    """The method and path, the headers, and the body."""
    answer: str
    """The status, the headers, and the body; or why there is no response."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one requirement."""

    id: str
    level: Level
    kind: Kind
    source: str
    sentence: str
    outcome: CaseOutcome
    came: str = ""
    """What was wrong, why it was skipped, or how the server reports that it lacks the feature."""
    known: str = ""
    """Why the profile lists this failure; empty if it does not."""
    exchanges: tuple[Shown, ...] = ()
    """For a failure: the request and the response."""
    place: str = ""
    """For a failure: the event's number, the field's path and its value that decided it."""
    blocked_by: str = ""
    """The id of the root cause, if the requirement cannot be judged while the root cause fails."""
    curl: str = ""
    """For a failure: the request as a `curl` command; the shell fills in `$BASE_URL` and
    `$OPENAI_API_KEY`.

    For a request that is too long, or is not an HTTP request, a command that repeats it
    (`--replay`).
    """

    @property
    def area(self) -> str:
        """`responses:stream` for `responses:stream:item-done-once`."""
        return self.id.rpartition(":")[0]

    @property
    def is_breach(self) -> bool:
        """Whether this makes the server non-conformant: a failed `must` of the protocol that is no
        known deviation.
        """
        return self.outcome == "failed" and self.level == "must" and self.kind == "protocol"


REFUSAL = re.compile(r"status [45]\d\d, ")
"""The beginning of a response summary with an error status."""


class Cause(NamedTuple):
    """A failure, those with the same response, and all that cannot be judged while they fail."""

    failed: Result
    same: tuple[Result, ...]
    blocked: tuple[Result, ...]


FORMAT = 1
"""The version of the report format; `docs/reference/report.schema.json` is its JSON schema."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One run against one server."""

    format: int = FORMAT
    """The version of the report format."""
    name: str = ""
    """The name of the server, if it has one."""
    about: dict[str, str] = {}
    """Further facts about the run, such as the server's version, its command, and its backend."""
    version: str
    """The version of antiphon-verify."""
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
        """Whether every judged `must` passes, and at least one was judged."""
        return not any(result.is_breach for result in self.results) and any(
            result.outcome == "passed" and result.level == "must" for result in self.results
        )

    def counted(self, results: Iterable[Result] | None = None) -> dict[CaseOutcome, int]:
        """Return how many results have each outcome; of all results, or of these."""
        counts: dict[CaseOutcome, int] = {
            "passed": 0,
            "failed": 0,
            "blocked": 0,
            "not offered": 0,
            "skipped": 0,
        }
        for result in self.results if results is None else results:
            counts[result.outcome] += 1
        return counts

    @property
    def causes(self) -> list["Cause"]:
        """Return the failures by cause, most consequences first; identical error responses are one
        cause.
        """
        failed = [one for one in self.results if one.outcome == "failed"]
        alike: dict[str, list[Result]] = {}
        for one in sorted(
            failed, key=lambda one: (one.kind != "protocol", LEVELS.index(one.level))
        ):
            alike.setdefault(one.came if REFUSAL.match(one.came) else one.id, []).append(one)
        causes = [self._cause(first, *same) for first, *same in alike.values()]
        return sorted(causes, key=lambda cause: -len(cause.blocked))

    def _cause(self, *failed: Result) -> "Cause":
        names = {one.id for one in failed}
        blocked = tuple(one for one in self.results if one.blocked_by in names)
        first = max(failed, key=lambda one: sum(other.blocked_by == one.id for other in blocked))
        return Cause(first, tuple(one for one in failed if one is not first), blocked)

    def by_area(self, kind: Kind = "protocol") -> dict[str, list[Result]]:
        """Return the results of one kind by area, in the order of the requirements."""
        areas: dict[str, list[Result]] = {}
        for result in self.results:
            if result.kind == kind:
                areas.setdefault(result.area, []).append(result)
        return areas


def encode_report(report: Report) -> bytes:
    """Return the report as JSON."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def decode_reports(files: Sequence[tuple[str, bytes]]) -> list[Report]:
    """Return the reports of some files, passed by name and bytes.

    Raises `VerifyError` if a file is not a report.
    """
    return [_decode(name, data) for name, data in files]


def _decode(name: str, data: bytes) -> Report:
    try:
        report = msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise VerifyError(
            f"{name} is not a report. `antiphon-verify --json FILE` writes one."
        ) from error
    if report.format > FORMAT:
        raise VerifyError(
            f"{name} has format {report.format}; this antiphon-verify {__version__} reads "
            f"up to {FORMAT}."
        )
    return report


LONGEST = 4000
"""Characters of a body that are shown."""


def displayed(exchange: Exchange) -> Shown:
    """Return an exchange as a report shows it."""
    return Shown(request=legible(_request(exchange.request)), answer=legible(_answer(exchange)))


LONGEST_COMMAND = 2000
"""Characters of a body that fit in a command; `--replay` shows longer ones."""


def curl(request: Request) -> str:
    """Return a request as a shell command, "" if it is not an HTTP request, or if its body is too
    long or no text.
    """
    data = request.data.decode("utf-8", "replace")
    if (
        request.method in ("WS", "MCP-RECEIVED")
        or len(data) > LONGEST_COMMAND
        or not _is_text(request.data)
    ):
        return ""
    method = [] if request.method == ("POST" if data else "GET") else ["-X", request.method]
    kind = {"content-type": "application/json"} if data else {}
    headers = kind | {name.lower(): value for name, value in request.headers.items()}
    named = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
    key = [] if "authorization" in headers else ['-H "authorization: Bearer $OPENAI_API_KEY"']
    body = ["--data-binary", data] if data else []
    words = [*method, *named, *body]
    return " ".join(
        ["curl -sS", f'"$BASE_URL"{shlex.quote(request.path)}', *key, *map(shlex.quote, words)]
    )


def _is_text(data: bytes) -> bool:
    """Whether a command shows these bytes as they are: a carriage return would get lost."""
    try:
        return "\r" not in data.decode()
    except UnicodeDecodeError:
        return False


def replay(name: str) -> str:
    """Return the command that repeats the case that judges a requirement."""
    return f'antiphon-verify --base-url "$BASE_URL" --replay {name}'


def raw(exchange: Exchange) -> bytes:
    """Return an exchange with every byte of its bodies."""
    request = exchange.request
    head = legible("\n".join([f"{request.method} {request.path}", *_lines(request.headers)]))
    reply_head = legible("\n".join([str(exchange.status), *_lines(exchange.headers)]))
    fault = f"[{exchange.fault}]\n".encode() if exchange.fault else b""
    return b"\n\n".join(
        [head.encode(), request.data, reply_head.encode(), exchange.body + b"\n" + fault]
    )


def _request(request: Request) -> str:
    head = [f"{request.method} {request.path}", *_lines(request.headers)]
    return _joined(head, request.data)


def _answer(exchange: Exchange) -> str:
    head = [f"{exchange.status}" if exchange.status else "no response"]
    head += _lines(exchange.headers)
    return _joined(head, exchange.body) + (f"\n[{exchange.fault}]" if exchange.fault else "")


def _lines(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def _joined(head: list[str], body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n[{len(text) - LONGEST} more characters]"
    return "\n".join(head) + (f"\n\n{text}" if text else "")
