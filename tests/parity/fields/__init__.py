"""Which test fails when a field of a RayCluster is ignored? Makes docs/api.md.

usage: python -m tests.parity.fields
"""
