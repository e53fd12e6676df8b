"""What a sandbox promises, as a program."""
