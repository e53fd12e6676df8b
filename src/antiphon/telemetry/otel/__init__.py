"""OpenTelemetry traces of requests, calls of models and uses of tools. Loaded only where somebody collects them."""
