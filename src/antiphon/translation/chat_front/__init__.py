"""Chat Completions as a front of responses: requests become responses, and these completions."""
