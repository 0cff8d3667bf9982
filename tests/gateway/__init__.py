"""A controller of our own in a Gateway API implementation's place: it takes Gateways and routes, and passes requests on by their weights.

definitions  the kinds, as far as they are read here
controller   what a Gateway's controller says of them, and whose turn the next request is
proxy        HTTP; `python -m tests.gateway` runs both as a process in a Pod
"""
