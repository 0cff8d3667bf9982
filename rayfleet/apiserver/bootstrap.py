"""The objects that every cluster has from the start."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from rayfleet.apiserver import writing
from rayfleet.apiserver.addresses import KUBERNETES_ADDRESS
from rayfleet.apiserver.api import Api
from rayfleet.apiserver.namespace_content import furnish
from rayfleet.apiserver.options import WriteOptions
from rayfleet.apiserver.priorities import CLASSES, SYSTEM
from rayfleet.apiserver.record import Obj
from rayfleet.apiserver.store import Store

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

KUBERNETES_SERVICE: Obj = {
    "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
    "spec": {"clusterIP": KUBERNETES_ADDRESS, "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
}


def open_api(
    store: Store,
    *,
    clock: Callable[[], float] = time.time,
    dice: random.Random | None = None,
    authority: str = "",
    key: bytes = b"",
    kubelet_token: str = "",
) -> Api:
    """Loads the store and makes what is missing of the first objects."""
    api = Api(store, clock=clock, dice=dice, authority=authority, key=key, kubelet_token=kubelet_token)
    namespaces, services = api.registry.native("namespaces"), api.registry.native("services")
    for name in NAMESPACES:
        if api.store.get("namespaces", "", name) is None:
            writing.create(api, namespaces, "", {"metadata": {"name": name}}, WriteOptions())
    if api.store.get("services", "default", "kubernetes") is None:
        writing.create(api, services, "default", KUBERNETES_SERVICE, WriteOptions())
    for name, system in SYSTEM.items():
        if api.store.get(CLASSES, "", name) is None:
            writing.create(api, api.registry.native(CLASSES), "", {"metadata": {"name": name}, **system}, WriteOptions())
    for name in NAMESPACES:
        furnish(api, name)
    store.flush()
    return api
