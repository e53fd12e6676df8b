"""What a store promises, as a program."""
