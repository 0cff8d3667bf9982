"""What a Pod's spec asks of a node that Pods have here in no case. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OWN = "the Pod has namespaces of its own"
ALONE = "each container sees its own processes"
POD = {
    "hostNetwork": f"{OWN}, and an address of its own",
    "hostPID": OWN,
    "hostIPC": OWN,
    "shareProcessNamespace": ALONE,
    "runtimeClassName": "there is one runtime",
    "ephemeralContainers": "they are not started",
}
# As shim.process.CAPABILITIES has them by number.
KEPT = frozenset({"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "NET_BIND_SERVICE", "NET_RAW",
                  "SYS_CHROOT", "MKNOD", "AUDIT_WRITE", "SETFCAP"})  # fmt: skip
WEAK = "containers have no capability that reaches the machine"


def unhonoured(spec: Mapping[str, Any]) -> str:
    """A sentence, or "" where all is as the spec has it."""
    found = dict.fromkeys([*of_pod(spec), *of_containers(spec)])
    return "not honoured in a local fleet: " + "; ".join(found) if found else ""


def of_pod(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{field}: {why}" for field, why in POD.items() if spec.get(field))
    if (spec.get("securityContext") or {}).get("sysctls"):
        yield "sysctls: the kernel's settings are the machine's"


def of_containers(spec: Mapping[str, Any]) -> Iterator[str]:
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        context = container.get("securityContext") or {}
        if context.get("privileged"):
            yield f"privileged: {WEAK}"
        if added := {name.removeprefix("CAP_") for name in (context.get("capabilities") or {}).get("add") or ()} - KEPT:
            yield f"capabilities.add ({', '.join(sorted(added))}): {WEAK}"
        if container.get("volumeDevices"):
            yield "volumeDevices: there are no block devices"
