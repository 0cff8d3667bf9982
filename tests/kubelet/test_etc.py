"""A Pod's own files of /etc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rayfleet.api.meta import ObjectMeta
from rayfleet.kubelet.etc import hosts, resolv_conf
from rayfleet.kubelet.objects import Pod
from rayfleet.kubelet.settings import KubeletSettings

SETTINGS = KubeletSettings(Path("k"), Path("s"), Path("e"))
SEARCH = "n.svc.cluster.local svc.cluster.local cluster.local"


def pod(**spec: Any) -> Pod:
    return Pod(ObjectMeta(name="a", namespace="n"), spec)


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        ({}, ["nameserver 10.88.0.1", f"search {SEARCH}", "options ndots:5"]),
        (
            {"dnsConfig": {"searches": ["x.y", "svc.cluster.local"], "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}]}},
            ["nameserver 10.88.0.1", f"search {SEARCH} x.y", "options ndots:2 edns0"],
        ),
        (
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}},
            ["nameserver 1.1.1.1", "nameserver 1.1.1.2", "nameserver 1.1.1.3"],
        ),
    ],
)
def test_where_names_are_asked_for(spec: dict[str, Any], lines: list[str]) -> None:
    assert resolv_conf(pod(**spec), SETTINGS).splitlines() == lines


def test_who_has_which_address() -> None:
    one = pod(subdomain="sub", hostAliases=[{"ip": "10.0.0.1", "hostnames": ["one", "uno"]}])
    told = hosts(one, "a", "10.88.0.2", "cluster.local").splitlines()
    assert told[-2:] == ["10.88.0.2 a.sub.n.svc.cluster.local a", "10.0.0.1 one uno"]
