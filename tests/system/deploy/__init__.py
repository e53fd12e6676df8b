"""The files in `deploy/`, run for real where their programs are installed."""
