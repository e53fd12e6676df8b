"""The requirements of `antiphon verify`, against the scripted model `demo`."""

from collections.abc import Sequence

import msgspec

from antiphon.trust.claims import CheckedClaim
from antiphon.trust.place import Place, PlaceError
from antiphon.trust.process import running
from antiphon.verifier import INSTALL, is_verifier_installed

CLAIM = "The server meets the requirements of the Responses API that can be checked."


async def check(place: Place) -> Sequence[CheckedClaim]:
    """Judge a server by all requirements. Raises `PlaceError` if it does not start, or there is no
    report.
    """
    if not is_verifier_installed():
        return [
            CheckedClaim(
                check="conformance",
                claim=CLAIM,
                outcome="not checked",
                detail=f"antiphon-verify is not installed: {INSTALL}",
            )
        ]
    report = place.folder / "verify.json"
    async with running("antiphon", "demo-backend", "--port", "0", folder=place.folder) as demo:
        server = await place.start(model=demo)
        output = await place.command(
            *("verify", "--api", "responses", "--base-url", server.url, "--model", "demo"),
            *("--json", str(report)),
        )
        await server.stop()
    if not report.exists():
        raise PlaceError(f"antiphon verify has written no report: {output[-500:]}")
    results = msgspec.json.decode(report.read_bytes())["results"]
    return [_finding(results)]


def _finding(results: Sequence[dict[str, str]]) -> CheckedClaim:
    breaches = [
        one["id"] for one in results if one["level"] == "must" and one["outcome"] == "failed"
    ]
    outcomes = [one["outcome"] for one in results]
    return CheckedClaim(
        check="conformance",
        claim=CLAIM,
        outcome="broken" if breaches else "holds",
        figures={
            "requirements": len(results),
            "passed": outcomes.count("passed"),
            "not offered by this server": outcomes.count("not offered"),
            "broken": len(breaches),
        },
        detail=", ".join(breaches[:10]),
    )
