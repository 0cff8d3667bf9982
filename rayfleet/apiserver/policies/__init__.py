"""ValidatingAdmissionPolicies (admissionregistration.k8s.io/v1): which requests they judge, and what they say.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""
