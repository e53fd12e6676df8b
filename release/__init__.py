"""Build a release: `make release VERSION=…`. It writes dist/ and uploads nothing."""
