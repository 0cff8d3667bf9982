"""Starts a control plane by hand.

usage: python -m testbed [DIRECTORY]      prints a line to set KUBECONFIG; Ctrl-C ends it
"""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path

from testbed.build import binary, tell
from testbed.control_plane import ControlPlane


def main() -> int:
    if not binary().exists():
        tell("it is not built: make testbed")
        return 1
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="testbed-"))
    plane = ControlPlane(directory).start()
    tell(f"Kubernetes at {plane.url} after {plane.booted:.1f} s; kubectl is: {binary()} kubectl")
    print(f"export KUBECONFIG={plane.kubeconfig()}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    plane.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
