"""What is stored of a response: its items, checkpoints, facts and reservations."""
