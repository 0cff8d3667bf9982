"""Programs that Ray's images have, that manifests rely on, and that this machine may lack: put last on every container's PATH.

Only wget: the probes that KubeRay writes for Ray before 2.53 call it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from rayfleet.kubelet.network import SYSTEM_PATH

PLACE = "/run/rayfleet/bin"  # where a container finds them
LAUNCHER = f"""#!/bin/sh
exec python -S -E {PLACE}/wget.py "$@"
"""
WGET = '''
"""wget, as far as health checks use it: fetches one http URL and prints what it gets. Codes as wget's own: 4 network, 8 refused."""
import socket, sys

url = sys.argv[-1].removeprefix("http://")
host, _, path = url.partition("/")
name, _, port = host.partition(":")
try:
    with socket.create_connection((name, int(port or 80)), timeout=5) as connection:
        connection.sendall(f"GET /{path} HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
except OSError as error:
    sys.exit(4)
head, _, body = answer.partition(b"\\r\\n\\r\\n")
if not head.split(b" ")[1:2] == [b"200"]:
    sys.exit(8)
sys.stdout.buffer.write(body)
'''


def write(directory: Path) -> bool:
    """Writes the missing programs into the directory. Returns whether there were any."""
    if shutil.which("wget", path=SYSTEM_PATH):
        return False
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "wget.py").write_text(WGET)
    launcher = directory / "wget"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)
    return True
