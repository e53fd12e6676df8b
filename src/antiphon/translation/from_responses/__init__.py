"""The Responses events of a backend become ours."""
