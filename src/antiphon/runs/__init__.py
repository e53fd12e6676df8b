"""One response, from request to result: it is prepared, then run."""
