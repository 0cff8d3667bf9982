"""The operator on a real Kubernetes control plane. `make testbed` builds that; without it these tests are skipped."""
