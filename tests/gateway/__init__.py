"""A controller of our own in a Gateway API implementation's place: it takes Gateways and routes, and passes requests on by their weights.

definitions  the kinds, as far as they are read here
"""
