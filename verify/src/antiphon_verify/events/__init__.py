"""The contract of a Responses event stream as code: rules, a checker for them, and a fold."""
