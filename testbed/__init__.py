"""The test bed: a real Kubernetes control plane on this machine, without containers.

main.go, go.mod  etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl as one binary
build            builds it into a cache outside the tree
control_plane    one control plane: starts it on free ports in a directory of its own, breaks it, mends it, stops it
credentials      its certificates, keys, tokens and kubeconfigs
process          a process that does not outlive the one that started it
audit            what the audited users asked of it

`python -m testbed` starts one by hand. Nothing here is part of the installed package.
"""
