"""A client for any Kubernetes API: how to reach it, how to ask, what can go wrong. Knows no object but by its Resource.

connection   where the server is and as whom to speak: kubeconfig, in a cluster
credentials  fixed bearer tokens and TLS contexts
login        credentials that are renewed on disk
exec_plugin  log-in programs
client       the verbs: get, list, create, replace, patch, delete, watch
transport    one HTTP exchange: deadline, retries, log-in, Warning headers
lane         its connections
port_forward a connection to a Pod's port;  spdy  the frames in it
errors       what the server's Status says, as exceptions
warnings     what the server's Warning headers say
"""
