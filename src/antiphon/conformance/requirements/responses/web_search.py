"""Searches of the web that the server makes."""

from antiphon.conformance.requirement import Table, capability, must, should

TABLE: Table = (
    must("responses:web-search:action", "spec 5", "A search says for what: in `query` or in `queries`."),
    should(
        "responses:web-search:sources-unasked",
        "spec 10",
        "Without `web_search_call.action.sources` in `include` no action has sources.",
    ),
    should(
        "responses:web-search:results-unasked",
        "spec 10",
        "Without `web_search_call.results` in `include` no search has results.",
    ),
    must(
        "responses:web-search:sources",
        "spec 5",
        "Sources, where they are asked for, are a list in which each has the type `url` and a URL.",
    ),
    must(
        "responses:web-search:citations",
        "spec 5",
        "A citation has a URL, a title, and two indexes in its text, the first before the second.",
    ),
    must(
        "responses:web-search:goes-on", "spec 16", "After its searches a response goes on to its end, and is completed."
    ),
    must("responses:web-search:max-tool-calls", "spec 2", "No more searches are made than `max_tool_calls` allows."),
    should("responses:web-search:dated", "spec 6", "A search tool may go by its dated name."),
    should("responses:web-search:preview", "spec 6", "A search tool may go by its name of the preview."),
    should("responses:web-search:choice", "spec 6", "A `tool_choice` of the preview's name has the web searched."),
    should(
        "responses:web-search:parameters",
        "spec 6",
        "Filters, the user's location, the size of the context and a web from the cache are taken and told back.",
    ),
    capability(should("responses:web-search:cited", "spec 16", "The model's answer cites what was found.")),
)
