"""responses: refusal."""
