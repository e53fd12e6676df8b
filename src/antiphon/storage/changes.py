"""Names of changes that concern no single response: passed to `on_change` listeners in place of a
response's id.
"""

JOBS = "jobs"
"""A job waits to be claimed."""

INGESTIONS = "ingestions"
"""A file waits for ingestion, or loses its worker."""

LESSONS = "lessons"
"""A lesson about a model was stored or deleted."""
