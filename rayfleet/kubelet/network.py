"""The fleet's network, as far as Pods need it: the bridge, an address for each Pod, a pair of links to reach it. All by iproute2.

Works in a user namespace's network as well: nothing here touches the machine's own links, routes or /run/netns.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from ipaddress import IPv4Address

from rayfleet.kubelet.settings import KubeletSettings

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LINK_PREFIX = "rfp"
WORST = 0xFFFFFFFF  # the metric of a route that any other one is better than


class NetworkError(Exception):
    """A command refused; `said` is its own text."""

    def __init__(self, words: str, said: str = "") -> None:
        super().__init__(words)
        self.said = said


def tool(name: str) -> str:
    """The command's path, whatever the caller's PATH lacks."""
    return shutil.which(name) or shutil.which(name, path=SYSTEM_PATH) or name


def has(name: str) -> bool:
    return shutil.which(tool(name)) is not None


async def run(*argv: str, script: str = "") -> str:
    """Runs a command to its end, feeding it the script. Raises NetworkError with what it said on stderr."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
    output, complaint = await process.communicate(script.encode())
    if process.returncode != 0:
        said = complaint.decode(errors="replace").strip()
        raise NetworkError(f"{' '.join(argv)}: {said}", said)
    return output.decode()


def link_of(uid: str) -> str:
    """The name of the Pod's link at the bridge; at most 15 characters."""
    return LINK_PREFIX + hashlib.sha256(uid.encode()).hexdigest()[:11]


def hardware_address(address: IPv4Address) -> str:
    """Derived from the IP address, so that a neighbour table is right even when another Pod has the address now."""
    return "0a:58:" + ":".join(f"{byte:02x}" for byte in address.packed)


class Network:
    def __init__(self, settings: KubeletSettings) -> None:
        self.settings = settings
        self.taken: dict[str, IPv4Address] = {}  # by the Pod's UID
        self.last = IPv4Address(settings.address)

    async def lay(self) -> None:
        """The bridge with the kubelet's address, and the ClusterIPs made local; both only where missing. Raises NetworkError.

        So is every other address that nobody has a better route to: what is sent to the world is refused at once, and not lost.
        """
        bridge, gateway = self.settings.bridge, IPv4Address(self.settings.address)
        if f": {bridge}:" not in await run(tool("ip"), "-o", "link", "show", "type", "bridge"):
            # A fixed hardware address: a bridge otherwise changes its own with each link that joins.
            await self.batch(f"link add {bridge} address {hardware_address(gateway)} type bridge")
        await self.batch(
            "link set lo up",
            f"link set {bridge} up",
            f"addr replace {gateway}/{self.settings.subnet.prefixlen} dev {bridge}",
            f"route replace local {self.settings.services} dev lo",
            f"route replace local default dev lo table main metric {WORST}",
        )

    async def batch(self, *lines: str, inside: int = 0) -> None:
        """iproute2 commands, in the network namespace of process `inside`, or in ours."""
        entrance = [tool("nsenter"), f"--net=/proc/{inside}/ns/net"] if inside else []
        await run(*entrance, tool("ip"), "-batch", "-", script="\n".join(lines) + "\n")

    def claim(self, uid: str, wanted: str = "") -> IPv4Address:
        """An address for the Pod: the wanted one, its own, or the next free one (just freed ones come last)."""
        if wanted:
            self.taken[uid] = IPv4Address(wanted)
            self.last = max(self.last, self.taken[uid])
        if uid not in self.taken:
            self.taken[uid] = self.last = self.next_free()
        return self.taken[uid]

    def next_free(self) -> IPv4Address:
        subnet, used = self.settings.subnet, {*self.taken.values(), IPv4Address(self.settings.address)}
        address = self.last
        for _ in range(subnet.num_addresses):
            address += 1
            if address >= subnet.broadcast_address:
                address = subnet.network_address + 1
            if address not in used:
                return address
        raise NetworkError(f"no address is left in {subnet}")

    def release(self, uid: str) -> None:
        self.taken.pop(uid, None)

    async def attach(self, uid: str, shim: int) -> None:
        """Gives the shim's network namespace its eth0. Raises NetworkError."""
        address, link = self.claim(uid), link_of(uid)
        await self.batch(
            f"link add {link} type veth peer name eth0 address {hardware_address(address)} netns {shim}",
            f"link set {link} master {self.settings.bridge} up",
        )
        await self.batch(
            "link set lo up",
            "link set eth0 addrgenmode none",
            f"addr add {address}/{self.settings.subnet.prefixlen} dev eth0",
            "link set eth0 up",
            f"route add default via {self.settings.address}",
            inside=shim,
        )

    async def detach(self, link: str) -> None:
        """Without error when it is gone already, with its namespace."""
        if link in await self.links():
            try:
                await self.batch(f"link del {link}")
            except NetworkError:
                if link in await self.links():
                    raise

    async def links(self) -> set[str]:
        """The names of all Pods' links."""
        lines = (await run(tool("ip"), "-o", "link", "show", "type", "veth")).splitlines()
        return {name for line in lines if (name := line.split(": ")[1].split("@")[0]).startswith(LINK_PREFIX)}
