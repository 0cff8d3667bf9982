"""A RayCluster: observe (shell), plan and judge (pure).

observed    the frozen value that every decision depends on
observe     reads it; decides nothing
plan        the table of contents: validity, children, head, workers, status
head        the one head Pod
children    Services, accounts, Ingress, the token's Secret, network policies
certificates what is asked of cert-manager, and how far it has come
protection  what a new Pod waits for
workers     the Pods of one worker group
pods        what a Pod is to a RayCluster: failed, counted, in which slot
lives       names as fences: when a name may not be used again
services    the head's Service and the headless one
status      judged on what was observed, never on what was planned
"""
