"""An issuer of our own in cert-manager's place: it answers Certificates with Secrets, signed by a CA that it makes.

definitions   kinds of cert-manager's names, as far as they are read here
authority     keys and certificates
issuer        the controller; `python -m tests.issuer --kubeconfig FILE` runs it as a process
"""
