"""Translates the Responses events of a backend into ours."""
