"""Where responses, items, conversations, jobs and keys are stored."""
