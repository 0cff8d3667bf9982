"""How the operator comes onto a Kubernetes cluster.

rayfleet.yaml             for all namespaces; kubectl apply -f deploy/rayfleet.yaml
rayfleet-namespaced.yaml  for one namespace, with rights in that one only
Containerfile             its image
rights                    what it may do, written once for both
objects                   everything else that the manifests hold
generate                  writes the manifests
"""
