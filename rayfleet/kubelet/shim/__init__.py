"""The one process of a Pod that is not the user's: PID 1 of the Pod's namespaces. It outlives the kubelet.

    launch    makes the namespaces and becomes their first process
    serve     the loop: commands from the kubelet's socket, output of containers, ends of children
    process   starts a container, or a command inside one
    streams   their standard streams: pipes or a terminal
    rootfs    what a container sees as its file system
    record    the files a later kubelet reads: what ran, since when, how it ended; and the log
    syscalls  the six system calls that Python lacks

Imports nothing but the standard library, and little of that: there is one shim for each Pod.
"""
