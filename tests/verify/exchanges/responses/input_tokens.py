"""responses: input tokens."""

from tests.verify.exchanges import Shown

EXCHANGES: dict[str, Shown] = {}
