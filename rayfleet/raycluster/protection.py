"""What must be there before a new Pod, so that none runs open to everybody; and what no longer fits together."""

from __future__ import annotations

from rayfleet.api.meta import NETWORKPOLICIES, SECRETS, Condition
from rayfleet.api.raycluster import RayCluster
from rayfleet.raycluster import certificates
from rayfleet.raycluster.observed import Observed
from rayfleet.resources import auth, network_policy


def unprotected(observed: Observed, cluster: RayCluster) -> bool:
    """Is something still to be seen without which a new Pod would run open to everybody, or with what a stranger put there?"""
    needed = [(NETWORKPOLICIES, str(manifest["metadata"]["name"])) for manifest in network_policy.policies(cluster)]
    if auth.needs_secret(cluster, observed.config):
        needed.append((SECRETS, auth.secret_name(cluster)))
    unseen = any(name not in {found.name for found in observed.owned(resource)} for resource, name in needed)
    return unseen or certificates.is_waiting(observed, cluster)


def token_replaced(observed: Observed, cluster: RayCluster) -> Condition | None:
    """Was the token's Secret made again while the head ran? No content is compared: the older of the two cannot know the newer."""
    if not auth.needs_secret(cluster, observed.config):
        return None
    name = auth.secret_name(cluster)
    made = [secret.metadata.creation_timestamp or "" for secret in observed.owned(SECRETS) if secret.name == name]
    heads = [head.metadata.creation_timestamp or "" for head in observed.heads() if not head.terminating]
    if not made or not heads or made[0] <= min(heads):
        return None
    told = f"Secret {name} was made again while the head ran: who starts now has another token and cannot join; delete the head Pod"
    return Condition("TokenReplaced", "True", "SecretIsNewerThanHead", told)
