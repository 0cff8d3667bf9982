"""usage: python -m tests.issuer --kubeconfig FILE [--mood willing]"""

from __future__ import annotations

import argparse
import asyncio

from rayfleet.kube.client import Client
from rayfleet.kube.connection import load_kubeconfig
from tests.issuer.issuer import FakeIssuer, Mood


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--mood", type=Mood, default=Mood.WILLING)
    given = parser.parse_args()
    async with Client(load_kubeconfig(given.kubeconfig), user_agent="issuer") as client:
        await FakeIssuer(client, given.mood).run()


asyncio.run(main())
