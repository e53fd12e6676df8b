"""responses: inputs."""

from tests.verify.exchanges import Shown

EXCHANGES: dict[str, Shown] = {}
