"""Whether the operator is the one to size a cluster's groups, and what stands in its way. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rayfleet.api import labels
from rayfleet.api.config import Configuration
from rayfleet.api.raycluster import OTHER_MANAGER, RayCluster
from rayfleet.api.scaler import HOSTED, is_hosted
from rayfleet.api.template import absent
from rayfleet.api.views import PodView
from rayfleet.autoscaling.observed import Obstacle
from rayfleet.planning.clock import parse_rfc3339
from rayfleet.planning.conditions import find
from rayfleet.ray.answer import Refused, Unreachable
from rayfleet.resources.autoscaler_sidecar import NAME as SIDECAR

MEANINGLESS = ("resources", "image", "image_pull_policy", "security_context", "env_from", "volume_mounts", "command", "args")
PATIENCE = 20.0  # seconds: one lost packet is no news
START = 120.0  # a new head takes its time
REFUSALS = {
    501: ("RayTooOld", "its Ray has no service for autoscalers; Ray 2.9 and later do, or use the sidecar"),
    401: ("TokenRefused", "its Ray does not take the cluster's token"),
    403: ("TokenRefused", "its Ray does not take the cluster's token"),
    413: ("AnswerTooLong", "its Ray's answer is longer than anything that it has to say"),
}
TOO_MUCH = Obstacle("TooMuchToWeigh", "what its Ray asks for takes too long to be weighed; it is tried again every minute")


def concerns_us(cluster: RayCluster, heads: Iterable[PodView], config: Configuration) -> bool:
    """A head that was made without Ray's autoscaler is ours to size for until the next one, whatever is chosen meanwhile."""
    if cluster.metadata.deletion_timestamp or cluster.spec.managed_by == OTHER_MANAGER or not cluster.spec.enable_in_tree_autoscaling:
        return False
    return is_hosted(cluster.metadata, cluster.spec, config) or any(
        head.metadata.annotation(labels.AUTOSCALING) == HOSTED and not head.has_container(SIDECAR) for head in heads
    )


def before_asking(cluster: RayCluster, heads: Iterable[PodView]) -> Obstacle | None:
    """What is in the way, by what Kubernetes says alone."""
    valid = find(cluster.status.conditions, "Valid")
    if valid is not None and valid.status == "False":
        return Obstacle("InvalidSpec", "the spec is not valid, and nothing is changed before it is")
    if cluster.spec.suspend:
        return Obstacle("Suspended", "the cluster is suspended")
    living = [head for head in heads if not head.terminating]
    if any(head.has_container(SIDECAR) for head in living):
        told = "the head has Ray's autoscaler beside it, which goes on; the operator begins with the next head"
        return Obstacle("SidecarPresent", told)
    if len(living) != 1 or not living[0].running or not living[0].status.pod_ip:
        return Obstacle("HeadNotReady", "there is no running head to be asked", START)
    return None


def without_head_since(cluster: RayCluster, now: float) -> float:
    """Since when there has been no head that was ready, as far as the status says."""
    ready = find(cluster.status.conditions, "HeadPodReady")
    began = ready.last_transition_time if ready is not None and ready.status != "True" else None
    return parse_rfc3339(began) if began else now


def in_the_answer(answer: Any, head: str) -> Obstacle | None:
    """What is in the way, by what was heard. `head` is the name of the head's Pod."""
    if isinstance(answer, Unreachable):
        return Obstacle("HeadUnreachable", f"the head's GCS does not answer: {answer.text}"[:512], PATIENCE)
    if isinstance(answer, Refused):
        reason, message = REFUSALS.get(answer.code, ("RayRefuses", f"the head's GCS says: {answer.text}"[:512]))
        return Obstacle(reason, message, PATIENCE)
    if not answer.lists(head):
        return Obstacle("OtherCluster", f"who answers at the head's address does not list the head {head} among its nodes", PATIENCE)
    return None


def unknown_options(cluster: RayCluster) -> Iterator[str]:
    """Options that only Ray's own container reads."""
    options = cluster.spec.autoscaler_options
    if options is None:
        return
    for name in MEANINGLESS:
        value = getattr(options, name)
        if value and not (isinstance(value, msgspec.Raw) and absent(value)):
            yield f"autoscalerOptions.{camel(name)}"
    for variable in options.env:
        yield f"autoscalerOptions.env[{msgspec.json.decode(variable).get('name', '')}]"


def camel(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(part.title() for part in rest)
