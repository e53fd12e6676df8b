"""Paths and methods."""

from dataclasses import replace

from antiphon_verify.areas.responses import paths
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown
from tests.unit.conformance.exchanges.bodies import RESPONSE

LOST = error("Unknown request URL.", 404, "unknown_url")

GONE = error("Response with id 'x' not found.", 404)

BROKEN = error("Internal Server Error", 500)

NOT_ALLOWED = replace(error("Not allowed.", 405), headers={"allow": "GET, POST"})

EXCHANGES: dict[str, Shown] = {
    **shown(
        paths.an_unknown_path_is_not_found,
        [LOST],
        {
            "responses:paths:unknown": [says({})],
            "responses:paths:unknown-envelope": [Answer(404, b"404 page not found")],
        },
    ),
    **shown(
        paths.a_wrong_method_is_told,
        [NOT_ALLOWED],
        {"responses:paths:method": [BROKEN], "responses:paths:allow": [error("Not allowed.", 405)]},
    ),
    **shown(paths.creating_is_no_get, [NOT_ALLOWED], {"responses:paths:get-on-create": [says({"data": []})]}),
    **shown(
        paths.odd_ids_are_not_found,
        [GONE] * len(paths.ODD),
        {
            "responses:paths:odd-ids": [GONE, BROKEN, GONE],
            "responses:paths:odd-ids-envelope": [GONE, Answer(404, b"<h1>Not Found</h1>")],
        },
    ),
    **shown(paths.a_long_id_is_refused, [GONE], {"responses:paths:long-id": [BROKEN]}),
    **shown(paths.dots_lead_nowhere, [GONE], {"responses:paths:traversal": [says({"object": "list", "data": []})]}),
    **shown(paths.an_unknown_query_changes_nothing, [says(RESPONSE)], {"responses:paths:query": [BROKEN]}),
    **shown(
        paths.another_content_type_is_no_fault_of_the_server,
        [error("Send application/json.", 415)],
        {"responses:paths:text-body": [BROKEN]},
    ),
}
