"""A running case: how it sends requests, and how it judges.

A case is a generator: it yields the steps that it wants done (`exchange.Step`), receives the
results, and calls `expect` for each requirement that these show to pass or fail. It never waits and
never sees a socket, so a test runs it against recorded responses, and the runner against a server.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from typing import Any

from antiphon_verify.exchange import MCP_RECEIVED, Exchange, Pause, Request, Step, Together
from antiphon_verify.place import decided
from antiphon_verify.reading import MISSING, Read, at, peek, preview
from antiphon_verify.refusal import hidden_error, lacking, message_of, named_lack, path_absence
from antiphon_verify.requirement import Stop, Verdict
from antiphon_verify.simpler import doubted

Steps = Generator[Step, Any, None]
"""A running case."""

ExchangeSteps = Generator[Step, Any, Exchange]
"""One exchange of a case: `exchange = yield from trial.get("/models")`."""

MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Traits:
    """How to send requests to a server.

    `at_once` cases run concurrently; `cap` is the name of the token limit of a chat completion;
    `streaming_by_default` are the paths that stream unless `stream` is false; `unknown_path_error`
    is the error by which a response with a success status reports an unknown path, "" if the status
    reports it.
    """

    at_once: int = MOST_AT_ONCE
    cap: str = "max_tokens"
    streaming_by_default: frozenset[str] = frozenset()
    unknown_path_error: str = ""

    def streaming(self, path: str) -> dict[str, Any]:
        """Return the parameters that a request to the path needs for a non-streamed response."""
        return {"stream": False} if path in self.streaming_by_default else {}


ORDINARY = Traits()

TURNED_AWAY = {
    401: "The server requires another key for this",
    429: "The server turned this away several times",
}

MAX_TOKENS = 1024
"""Token limit of an ordinary response: enough for a model that reasons first, and an end for one
that rambles.
"""


MESSAGES_VERSION = {"anthropic-version": "2023-06-01"}
"""The header that clients of the Messages API send."""

NO_TOOLS = "The server is not on this machine, so it cannot reach the run's MCP server."

UNSHOWN = "Not exercised by any response."
"""Why a requirement is skipped that nothing judged."""


class Trial:
    """The facts, requests and verdicts of one case.

    `ids` are the requirements that it judges, `traits` how to send requests to the server,
    `tools_url` the URL of the run's MCP server. `reads` are the fields that were read since the
    last verdict.
    """

    def __init__(
        self, ids: Iterable[str], model: str, traits: Traits = ORDINARY, tools_url: str = ""
    ) -> None:
        self.model = model
        self.reads: list[Read] = []
        self._traits = traits
        self._tools_url = tools_url
        self.exchanges: list[Exchange] = []
        self.verdicts: dict[str, Verdict] = {}
        self._ids = tuple(ids)

    # Sending

    def send_request(self, request: Request) -> ExchangeSteps:
        """Send a request; return the exchange."""
        exchange: Exchange = yield request
        return exchange

    def get(self, path: str, **fields: Any) -> ExchangeSteps:
        """GET a path."""
        return self.send_request(Request(method="GET", path=path, **fields))

    def post(self, path: str, body: Any = MISSING, **fields: Any) -> ExchangeSteps:
        """POST a JSON value, or `content=` bytes, to a path."""
        return self.send_request(Request(method="POST", path=path, body=body, **fields))

    def delete(self, path: str, **fields: Any) -> ExchangeSteps:
        """DELETE a path."""
        return self.send_request(Request(method="DELETE", path=path, **fields))

    def respond(self, input: Any, **parameters: Any) -> ExchangeSteps:
        """Create a response. A parameter set to `MISSING` is omitted from the body."""
        return self.post("/responses", self.response_body(input, **parameters))

    def response_body(self, input: Any, **parameters: Any) -> dict[str, Any]:
        """Return the body that `respond` sends."""
        head = {"model": self.model, "input": input, "max_output_tokens": MAX_TOKENS}
        return present(head | self._traits.streaming("/responses") | parameters)

    def chat(self, messages: Any, **parameters: Any) -> ExchangeSteps:
        """Create a chat completion. `messages` can be a text: one user message."""
        return self.post("/chat/completions", self.chat_body(messages, **parameters))

    def chat_body(self, messages: Any, **parameters: Any) -> dict[str, Any]:
        """Return the body that `chat` sends."""
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        head = {"model": self.model, "messages": listed, self._traits.cap: MAX_TOKENS}
        return present(head | self._traits.streaming("/chat/completions") | parameters)

    def message(self, messages: Any, **parameters: Any) -> ExchangeSteps:
        """Create a message of the Messages API. `messages` can be a text: one user message."""
        body = self.message_body(messages, **parameters)
        return self.post("/messages", body, headers=MESSAGES_VERSION)

    def message_body(self, messages: Any, **parameters: Any) -> dict[str, Any]:
        """Return the body that `message` sends."""
        listed = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return present(
            {"model": self.model, "messages": listed, "max_tokens": MAX_TOKENS} | parameters
        )

    def send_text(self, message: Any, **fields: Any) -> ExchangeSteps:
        """Send a frame to the case's WebSocket; return what is received up to the next terminal
        event or error.

        The fields are those of a `Request`: `socket`, `answers`, `until`, `content`.
        """
        return self.send_request(Request(method="WS", path="/responses", body=message, **fields))

    def mcp_tool(self, path: str, **fields: Any) -> dict[str, Any]:
        """Return an MCP tool at a path of the run's server.

        Ends the case if there is no such server.
        """
        if not self._tools_url:
            raise Stop("skipped", NO_TOOLS)
        url = f"{self._tools_url}{path}"
        return present(
            {
                "type": "mcp",
                "server_label": "shelves",
                "server_url": url,
                "require_approval": "never",
                **fields,
            }
        )

    def mcp_received(self, path: str) -> ExchangeSteps:
        """Request the messages that the run's MCP server received under a path: a list, each with
        its `headers`.
        """
        return self.send_request(Request(method=MCP_RECEIVED, path=path))

    def together(self, *requests: Request) -> Generator[Step, Any, list[Exchange]]:
        """Send requests concurrently; return their exchanges in order."""
        exchanges: list[Exchange] = yield Together(requests)
        return exchanges

    def pause(self, seconds: float) -> Generator[Step, Any, None]:
        """Wait."""
        yield Pause(seconds)

    # Judging

    def expect(
        self, id: str, holds: bool, came: object = "", place: str = "", root: str = ""
    ) -> bool:
        """Judge a requirement by the responses; return whether it passes.

        Once it has failed, it stays failed.

        Unless `place` says what decided it, the fields that were read since the last verdict do.
        `root` is the requirement that fails from the same cause, if it does.
        """
        if id not in self._ids:
            raise LookupError(f"{id} is not one of the ids that this case names.")
        if self.verdicts.get(id, Verdict("passed")).outcome != "failed":
            self.verdicts[id] = (
                Verdict("passed") if holds else replace(self._failed(came, place), root=root)
            )
        self.reads.clear()
        return holds

    def _failed(self, came: object, place: str) -> Verdict:
        text = came if isinstance(came, str) else preview(came)
        return Verdict(
            "failed", text, len(self.exchanges), place or decided(self.reads, self.exchanges)
        )

    def skip(self, id: str, why: str) -> None:
        """Leave a requirement unjudged, with a reason, unless something else judges it."""
        self.verdicts.setdefault(id, Verdict("skipped", why))

    # Prerequisites of a case

    def whole(self, exchange: Exchange) -> dict[str, Any]:
        """Return a response's JSON object.

        Ends the case without one, or if the server lacks the feature.
        """
        self.succeed(exchange)
        if not isinstance(exchange.json, dict):
            raise Stop("failed", f"The body is not a JSON object: {exchange.came}")
        return exchange.json

    def response(self, exchange: Exchange) -> dict[str, Any]:
        """Return the response object.

        Ends the case as `whole` does, and if the object is not a response.
        """
        response = self.whole(exchange)
        if not is_response(response):
            raise Stop("failed", f"This is not a response: {exchange.came}")
        self.reads.clear()
        return response

    def completion(self, exchange: Exchange) -> dict[str, Any]:
        """Return the chat completion.

        Ends the case as `whole` does, and if the object is not a chat completion.
        """
        completion = self.whole(exchange)
        if not is_completion(completion):
            raise Stop("failed", f"This is not a chat completion: {exchange.came}")
        self.reads.clear()
        return completion

    def streamed(self, exchange: Exchange) -> list[dict[str, Any]]:
        """Return a response's events, each a JSON object. Ends the case as `whole` does."""
        self.succeed(exchange)
        events = exchange.events
        if not events or not all(isinstance(event, dict) for event in events):
            raise Stop("failed", f"The stream has no events with JSON objects: {exchange.came}")
        return events

    def succeed(self, exchange: Exchange) -> None:
        """End the case unless the response is complete and a success."""
        self.offered(exchange)
        if not exchange.is_ok:
            raise Stop("failed", exchange.came)

    def offered(self, exchange: Exchange) -> None:
        """End the case if the server rejects the request, as not offered if a simpler request shows
        that.
        """
        doubt = doubted(exchange, self.exchanges[:-1])
        if doubt is not None:
            raise Stop("failed", exchange.came, doubt)
        self.understood(exchange)

    def understood(self, exchange: Exchange) -> None:
        """End the case if the server reports by a code that it lacks the feature; other rejections
        are judged.
        """
        self._admitted(exchange)
        lack = self.path_absence(exchange) or named_lack(exchange)
        if lack is not None:
            raise Stop("not offered", lack)
        self.reads.clear()

    def supported(self, exchange: Exchange) -> None:
        """End the case if the server does not serve the path, or did not answer: neither rejects
        the request.
        """
        self._admitted(exchange)
        lack = self.path_absence(exchange)
        if lack is not None:
            raise Stop("not offered", lack)
        if exchange.fault:
            raise Stop("failed", exchange.came)

    def answered(self, exchange: Exchange) -> None:
        """End the case unless the response is complete, whatever its status."""
        if exchange.fault:
            raise Stop("failed", exchange.came)
        self.reads.clear()

    def extended(self, exchange: Exchange) -> None:
        """End the case, as not offered, unless an endpoint that OpenAI does not document accepts
        the request.

        Each server that has such an endpoint designed its own, so no rejection of another's request
        is wrong.
        """
        self._admitted(exchange)
        if exchange.fault:
            raise Stop("failed", exchange.came)
        if not exchange.is_ok:
            raise Stop("not offered", lacking(exchange))
        self.reads.clear()

    def _admitted(self, exchange: Exchange) -> None:
        """End the case if the server turns the client away, because that is unrelated to the
        request.
        """
        if (why := TURNED_AWAY.get(exchange.status)) is not None:
            raise Stop("skipped", f"{why}: {message_of(exchange)[:160]}")

    def path_absence(self, exchange: Exchange) -> str | None:
        """Return how the server reports that it does not serve the path, None if it does not."""
        if (
            self._traits.unknown_path_error
            and hidden_error(exchange) == self._traits.unknown_path_error
        ):
            return f"status {exchange.status}, with the error of an unknown path"
        return path_absence(exchange)

    def found(self, value: Any, *path: str | int) -> Any:
        """Return the value at a path. Ends the case, as failed, if the path is missing."""
        value = at(value, *path)
        if value is MISSING:
            raise Stop("failed", f"The response has no {'.'.join(map(str, path))}.")
        return value

    def conclude(self, rest: Verdict, asides: Iterable[str] = ()) -> None:
        """Set this verdict on the rest of the ids; those judged in passing are skipped, unless it
        is not offered.
        """
        for one in asides if rest.outcome != "not offered" else ():
            self.skip(one, UNSHOWN)
        place = decided(self.reads, self.exchanges) if rest.outcome == "failed" else ""
        for one in self._ids:
            self.verdicts.setdefault(
                one, replace(rest, seen=len(self.exchanges), place=place, is_end=True)
            )


def is_response(value: Any) -> bool:
    """Whether this is a response, judged by its output."""
    return isinstance(peek(value, "output"), list)


def is_completion(value: Any) -> bool:
    """Whether this is a chat completion, judged by its first message."""
    return isinstance(peek(value, "choices", 0, "message"), dict)


def present(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body without its parameters that are `MISSING`."""
    return {name: value for name, value in body.items() if value is not MISSING}
