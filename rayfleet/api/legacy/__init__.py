"""The formats of other times, into `ray.io/v1`. Pure.

note      what a conversion gives, and what it tells
old       a cluster of the old formats as one value
resource  `cluster.ray.io/v1`, ray_up: the YAML of `ray up`; each into that value
start     the old start commands
pods      the old Pods
cluster   the value into a RayCluster and its Services
alpha     `ray.io/v1alpha1`
object    a RayCluster of `cluster.ray.io/v1` as the operator reads it, definition: its CRD
"""

from __future__ import annotations

from rayfleet.api.legacy.alpha import OLD, convert_alpha
from rayfleet.api.legacy.cluster import convert_cluster
from rayfleet.api.legacy.note import Converted, Inconvertible, Note, Obj
from rayfleet.api.legacy.ray_up import is_ray_up, read_ray_up
from rayfleet.api.legacy.resource import GROUP, read_resource

__all__ = ["Converted", "Inconvertible", "Note", "convert"]


def convert(document: Obj, *, hosted: bool = False) -> Converted:
    """One document of any format; what is of none of them comes back as it is. Raises Inconvertible."""
    if is_ray_up(document):
        old, notes = read_ray_up(document)
    elif document.get("kind") == "RayCluster" and str(document.get("apiVersion", "")).startswith(f"{GROUP}/"):
        old, notes = read_resource(document)
    elif document.get("apiVersion") == OLD:
        return convert_alpha(document)
    elif is_first_operator(document):
        raise Inconvertible("this is a RayCluster of the first operator of 2019, which had the group ray.io too; write it anew")
    else:
        return Converted((document,))
    made = convert_cluster(old, hosted=hosted)
    return Converted(made.objects, (*notes, *made.notes))


def is_first_operator(document: Obj) -> bool:
    spec = document.get("spec")
    ours = document.get("kind") == "RayCluster" and str(document.get("apiVersion", "")).startswith("ray.io/")
    return ours and isinstance(spec, dict) and "headGroupSpec" not in spec and bool({"extensions", "head"} & spec.keys())
