"""Hosted autoscaling: the operator sizes the worker groups of every cluster itself, without an autoscaler container in the head's Pod.

`decide` is pure: what Ray asks for, the groups as the RayCluster has them, the Pods and nodes that are there, the policy, what was decided
before and the time give the size of each group, the nodes to drain, the Pods to delete, and the reasons. The loop around it does the rest.
"""
