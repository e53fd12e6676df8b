"""Background responses: queued, made by a worker, replayed."""
