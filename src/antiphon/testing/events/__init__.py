"""The contract of a Responses event stream as a program: rules, a checker of them, and a fold."""
