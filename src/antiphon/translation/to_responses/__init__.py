"""A Responses request becomes a request to a backend that speaks the Responses API."""
