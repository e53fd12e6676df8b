"""What agents of several frameworks need: a client of this server's models, and their tools."""
