"""Background responses: queued, run by a worker, replayed."""
