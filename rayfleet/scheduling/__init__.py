"""Which node each Pod goes to, and what becomes of Pods whose node is lost: for API servers that bring no scheduler of their own.

    amounts     what Pods ask for, nodes have, and is left                        pure
    selection   node selectors, required node affinity                            pure
    taints      taints and tolerations                                            pure
    fit         why a Pod cannot be on a node                                     pure
    pods        Pods that wait, and Pods that have a node                         pure
    terms       which Pods a term of Pod affinity means                           pure
    company     Pods that must be near others, or apart from them                 pure
    spread      topology spread constraints                                       pure
    preference  what a Pod would rather have, of the nodes that it can be on      pure
    decide      a node for each waiting Pod, or the sentence of why there is none pure
    loss        nodes that are silent: conditions, taints, Pods to evict          pure
    garbage     Pods of nodes that are no more, and finished ones beyond a number pure
    objects     what is watched of nodes and leases
    scheduler   carries out what `decide` says
    node_controller  carries out what `loss` says
    collector   carries out what `garbage` says

Reasons are worded as kube-scheduler 1.37 words them. Nobody is preempted: a Pod of high priority only comes first.
"""
