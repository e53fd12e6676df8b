"""One response from request to stored result."""
