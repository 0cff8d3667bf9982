"""What a URL asks for."""

from __future__ import annotations

from dataclasses import dataclass

from rayfleet.apiserver.metadata import wrong_segment
from rayfleet.apiserver.registry import Registry, Served
from rayfleet.apiserver.status_error import bad_request, no_such_page, no_such_path, not_found

REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
"""groups that keep nothing"""


@dataclass(frozen=True, slots=True)
class Address:
    """/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE, taken apart. namespace None: all of them."""

    served: Served
    namespace: str | None = None
    name: str = ""
    subresource: str = ""
    rest: str = ""
    """what a proxy passes on"""


def parse(registry: Registry, path: str) -> Address:
    """Raises 404 for anything that is not served, 400 for a name that cannot be one."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise no_such_page()
    if version not in registry.groups().get(group, ()):
        raise no_such_path() if group in REVIEWS else no_such_page()
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2 and not (group == "" and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    served = registry.find(group, version, rest[0])
    if served is None and registry.is_custom(group):
        raise no_such_page()
    tail = ""
    if len(rest) > 3 and rest[2] == "proxy":
        rest, tail = rest[:3], "/".join(rest[3:])
    if served is None or len(rest) > 3 or not all(rest) or (namespace is not None and not served.kind.namespaced):
        raise no_such_path()
    name = rest[1] if len(rest) > 1 else ""
    if wrong := wrong_segment(name):
        raise bad_request(f'Name parameter invalid: "{name}": {", ".join(wrong)}')
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in served.kind.subresources:
        if served.kind.custom and subresource in ("status", "scale"):
            raise not_found(group, rest[0], name)
        raise no_such_path()
    if served.kind.namespaced and namespace is None and name:
        raise no_such_path()
    return Address(served, namespace, name, subresource, tail)
