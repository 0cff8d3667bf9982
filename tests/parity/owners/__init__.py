"""Do RayServices, RayJobs and RayCronJobs go through what KubeRay was recorded to go through?

recorded/    one file for each case: input, and for each step children, status, writes, calls to Ray, order and course
recording    reads the cases; take_over writes them anew from the recordings themselves, where those are at hand
dashboard    the Ray that answers as the recordings' pretended one did
roads        the Gateways of those that upgrade step by step
submitters   the Pods that submit jobs to it
steps        what is done to a case after its input was applied
replay       plays a case on the operator as it is, and says after each step what differs
"""
