"""The items that a response was made from."""

from antiphon.conformance.requirement import Table, must, should

TABLE: Table = (
    must("responses:input-items:list", "spec 1", "Input items come as a list object with `data`."),
    must("responses:input-items:paging-keys", "spec 1", "The list has `first_id`, `last_id` and a boolean `has_more`."),
    should("responses:input-items:page-ends", "spec 1", "`first_id` and `last_id` name a page's first and last item."),
    must("responses:input-items:ids", "spec 5", "Every input item has an id and a type."),
    must("responses:input-items:message", "spec 5", "A string as input is one message of the user, of `input_text`."),
    must("responses:input-items:newest-first", "spec 1", "The newest item comes first, unless told otherwise."),
    must("responses:input-items:ascending", "spec 1", "`order=asc` puts the oldest item first."),
    must("responses:input-items:limit", "spec 1", "`limit` bounds the items of a page, and `has_more` tells of more."),
    must(
        "responses:input-items:after", "spec 1", "`after` goes on behind an item, without gap and without repetition."
    ),
    should("responses:input-items:limit-zero", "spec 13", "A `limit` of 0 is refused with 400."),
    should("responses:input-items:limit-high", "spec 13", "A `limit` of 101 is refused with 400."),
    should("responses:input-items:order-word", "spec 13", "An unknown `order` is refused with 400."),
    must("responses:input-items:unknown", "spec 13", "Input items of an unknown response are a 404."),
    must("responses:input-items:deleted", "spec 1", "Input items of a deleted response are a 404."),
)
