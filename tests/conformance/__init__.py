"""The embedded API held to a real Kubernetes API server, exchange by exchange. See docs/embedded-api.md."""
