"""responses: objects."""

from tests.verify.exchanges import Shown

EXCHANGES: dict[str, Shown] = {}
