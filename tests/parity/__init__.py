"""Is what rayfleet makes of a RayCluster what KubeRay was recorded to make of it?

recorded/    one file for each case: input, steps' children, statuses and counts of writes, in canonical form
canonical    an object without what says nothing: defaults, addresses, identities
compare      two sets of objects, as lines
named        the differences that are meant, with their reasons
recording    reads the cases
take_over    writes recorded/ anew from the recordings themselves, where those are at hand
"""
