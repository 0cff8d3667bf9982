"""The fleet of processes on one machine, its state in one directory.

A tiny holder owns the namespaces; relay, API server, operator and kubelet are peers inside; the door stands on the host's side, carries
loopback connections inwards and keeps the peers alive. Why so: designs/0010-local-fleet.md.
"""
