"""What happens by itself: garbage, ends of namespaces and of CRDs."""

from __future__ import annotations

from rayfleet.apiserver.api import Api


class Housekeeping:
    def __init__(self, api: Api) -> None:
        self._api = api

    def start(self) -> None: ...

    async def stop(self) -> None: ...
