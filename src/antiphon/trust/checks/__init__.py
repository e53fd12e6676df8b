"""The checks, in the order in which a report runs them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from antiphon.trust.checks import backends, conformance, disk, load, neighbour, recovery, takeover
from antiphon.trust.claims import CheckedClaim
from antiphon.trust.place import Place

Check = Callable[[Place], Awaitable[Sequence[CheckedClaim]]]

CHECKS: Mapping[str, Check] = {
    "conformance": conformance.check,
    "recovery": recovery.check,
    "takeover": takeover.check,
    "disk": disk.check,
    "backends": backends.check,
    "neighbour": neighbour.check,
    "load": load.check,
}
"""By name. Each takes the seconds of its place, or a little more, and raises as `Place.start` and
`Place.send`.
"""
