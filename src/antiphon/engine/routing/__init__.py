"""Which backend is asked, how many at once, and what becomes of one that fails."""
