"""The promises of a store, as code."""
