"""responses: logprobs."""
