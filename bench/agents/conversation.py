"""A scenario as it is sent: in another conversation each time, and after what its client has sent
before.
"""

import itertools

from bench.agents.scenarios import Scenario, encoded, of_conversation
from bench.trace.loopback import Client, SteppedBackend
from bench.wire import id_in, request

PATH = "/v1/responses"

_numbers = itertools.count(1)


class Conversation:
    """One scenario on one connection: `begin` the next conversation, then `send` the request that
    is measured.
    """

    def __init__(
        self, client: Client, scenario: Scenario, *, model: str, stream: bool, store: bool = False
    ) -> None:
        self._client = client
        self._content = encoded(scenario.body, model=model, stream=stream, store=store)
        before = scenario.before
        self.has_before = bool(scenario.before)
        self._before = (
            encoded(before, model=model, stream=False, store=scenario.is_chained) if before else b""
        )
        self._request = b""

    async def begin(self) -> None:
        """Send what the client has sent before, if anything, and prepare the request that follows
        it.
        """
        number = next(_numbers)
        previous = ""
        if self._before:
            before = request("POST", PATH, of_conversation(self._before, number))
            previous = id_in(await self._client.send(before, SteppedBackend.step))
        self._request = request("POST", PATH, of_conversation(self._content, number, previous))

    async def send(self) -> None:
        """Send the request, and wait for the end of its answer.

        The client's `first` says when that began.
        """
        await self._client.send(self._request, SteppedBackend.step)
