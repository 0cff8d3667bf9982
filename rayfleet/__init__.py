"""rayfleet: a Kubernetes operator for fleets of Ray clusters.

The map of the house, from the words to the machines (imports run from the bottom of this list to its top, never back):

    api         the words users write and their meaning                       pure
    planning    the nouns every controller shares: actions, plans, conditions  pure
    resources   (cluster, group, configuration) -> manifest                    pure
    raycluster  observe, plan and judge a RayCluster                           pure but for observe
    kube        a client for a Kubernetes API
    runtime     informer, queue, controller, lease, events; knows nothing of Ray
    apiserver   the embedded Kubernetes API
    kubelet     Pods as processes
    local       the fleet of processes on one machine
    sim         the deterministic world that the tests live in
    cli         one file a command; the only place where the parts are put together
"""
