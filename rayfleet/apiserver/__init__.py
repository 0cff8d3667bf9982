"""The embedded Kubernetes API server: one process, one SQLite file. It knows nothing of Ray."""
