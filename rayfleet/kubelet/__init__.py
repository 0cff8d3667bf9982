"""The kubelet: Pods as processes of this machine, each in namespaces of its own, in one network that no packet leaves.

    kubelet     puts the parts together and runs them
    pods        which Pods are ours; starts and ends a worker for each
    worker      one Pod: sync, start, probe, end
    steps       what to start next, and when to try again                         pure
    status      what the API is told                                              pure
    restart     the back-off between two lives of a container                     pure
    verdicts    what a row of probe results means                                 pure
    env         a container's environment                                         pure
    etc         a Pod's own /etc/hosts and resolv.conf                            pure
    endpoints   which Pods stand behind a Service                                 pure
    policies    which connections NetworkPolicies allow                         pure
    filter_rules  the same, as the packet filter is told it                     pure
    sandbox     a Pod's directory and the shim in it: launch, adopt, ask, destroy
    shim/       that process (standard library only)
    container   what the shim is asked to start: argv, environment, mounts
    cgroups     limits of memory and processors
    users       as whom a container runs
    images      which Python environment stands for an image
    substitutes programs that Ray's images have and this machine lacks
    volumes     the directories behind a Pod's volumes
    network     bridge, addresses, links
    probes      runs the probes
    hooks       runs postStart and preStop
    last_words  the message that a container leaves
    resolver    the names of the cluster domain;  dns  answers for them
    clusterip   ClusterIPs, node ports and host ports in user space;  datagrams  their UDP
    pipe        carries a connection on to another
    unhonoured  what a spec asks for that no Pod has here                         pure
    enforcer    holds Pods, and the callers of Services, to NetworkPolicies
    unheeded    says of which objects nobody takes notice
    tokens      asks for the tokens of service accounts
    claims      a directory for each PersistentVolumeClaim
    host_paths  where hostPath volumes may be
    kept_logs   logs of Pods that are gone
    server      the kubelet's HTTP: logs, exec, attach, port-forward
    serving     its certificate, and who may call it
    passage     streams and sockets that a shim hands over
    remote_command  exec and attach over WebSocket
    port_forward    connections to a Pod's ports over WebSocket
    nodes       the nodes that this process stands for;  node  what is told of one
    hollow      a kubelet without processes, for benches and tests

The state directory: `pods/UID/` with `pod.json` (whose it is, its address and link), `sandbox.json`, `shim.sock`, `shim.log`, `hosts`,
`resolv.conf`, `rules.nft` (what NetworkPolicies make of it), `volumes/`, and `containers/NAME/` with a record and a log for each attempt;
`bin/` with substitutes. Nothing is written outside of it.
"""
