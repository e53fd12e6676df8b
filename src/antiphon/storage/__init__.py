"""Storage of responses, items, conversations, jobs and keys."""
