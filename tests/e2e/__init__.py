"""Real Ray on a real Kubernetes control plane, and the very same on the embedded API.

servers   the two control planes, each with the operator and a kubelet, in the network namespace of the calling thread
laptop    a fleet as `rayfleet up` makes it
fleet     the vocabulary of the tests: clusters, Pods, jobs
"""
