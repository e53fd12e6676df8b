"""The promises of a sandbox, as code."""
