"""The kubelet of a Pod's node: where it answers, and what this server shows it."""

from __future__ import annotations

from dataclasses import dataclass

from rayfleet.apiserver.api import Api
from rayfleet.apiserver.call import Call
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.status_error import StatusError, bad_request, not_found

SCHEME = "rayfleet.dev/kubelet-scheme"


@dataclass(frozen=True, slots=True)
class Kubelet:
    scheme: str
    host: str
    port: int
    token: str

    @property
    def base(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def headers(self) -> dict[str, str]:
        """This server's own: the caller's token is for this server, and its rights have been looked at."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def dialled(place: Kubelet, failure: OSError) -> str:
    """Why nobody is there, as Go's net package says it."""
    why = "connect: connection refused" if isinstance(failure, ConnectionRefusedError) else failure.strerror or str(failure)
    return f"dial tcp {place.host}:{place.port}: {'i/o timeout' if isinstance(failure, TimeoutError) else why}"


def kubelet(api: Api, name: str) -> Kubelet:
    """Of a node. Raises 404, 500 when the node says no address."""
    record = api.store.get("nodes", "", name)
    if record is None:
        raise not_found("", "pods", name)  # so the real server says it
    node = record.decode()
    status = node.get("status") or {}
    addresses = [address["address"] for address in status.get("addresses", ()) if address.get("type") == "InternalIP"]
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 10250
    if not addresses:
        raise StatusError(500, "InternalError", f"no preferred addresses found for node {name}")
    scheme = (node["metadata"].get("annotations") or {}).get(SCHEME, "https")
    return Kubelet(scheme, addresses[0], port, api.kubelet_token)


def container_of(call: Call, pod: Obj) -> str:
    """The one that is asked for, or the only one. Raises 400."""
    wanted, name = call.query.get("container", ""), pod["metadata"]["name"]
    names = [container["name"] for container in pod["spec"]["containers"]]
    initial = [container["name"] for container in pod["spec"].get("initContainers", ())]
    if wanted:
        if wanted not in names and wanted not in initial:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(names) == 1:
        return str(names[0])
    raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join([*initial, *names])}]")
