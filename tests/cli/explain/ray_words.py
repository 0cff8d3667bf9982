"""What Ray 2.60 prints in these situations, as recorded; tracebacks are cut to their ends. RAYLET_LOST is after its source."""

from __future__ import annotations

PORT_TAKEN = """\
2026-11-30 10:31:52,837\tINFO scripts.py:1043 -- \x1b[37mLocal node IP\x1b[39m: \x1b[1m10.0.0.7\x1b[22m
[2026-11-30 10:31:57,890 W 48 48] rpc_client.h:153: Failed to connect to GCS at address 10.0.0.7:6379 within 5 seconds.
[2026-11-30 10:32:32,896 W 48 48] gcs_client.cc:210: Failed to get cluster ID from GCS server: TimedOut: Timed out while waiting for GCS \
to become available.
Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/ray/_private/node.py", line 1025, in _init_gcs_client
    raise RuntimeError(
RuntimeError: Failed to start GCS.  Last 1 lines of error files:
[2026-11-30 10:31:53,088 C 49 49] (gcs_server) grpc_server.cc:134:  An unexpected system state has occurred. Check failed: \
server_ Failed \
to start the grpc server. The specified port is 6379. This means that Ray's core components will not be able to function correctly.
"""
DASHBOARD_PORT_TAKEN = """\
2026-11-30 10:32:36,870\tINFO scripts.py:1043 -- \x1b[37mLocal node IP\x1b[39m: \x1b[1m10.0.0.7\x1b[22m
2026-11-30 10:32:37,115\tERROR services.py:1500 -- Failed to bind to 0.0.0.0:8265 because it's already occupied. You can use `ray start \
--dashboard-port ...` or `ray.init(dashboard_port=...)` to select a different port.
2026-11-30 10:32:47,023\tSUCC scripts.py:1085 -- \x1b[32mRay runtime started.\x1b[39m
"""
WRONG_TOKEN = """\
    raise RuntimeError(
RuntimeError: Failed to connect to GCS. Last connection error: Traceback (most recent call last):
  File "python/ray/includes/common.pxi", line 119, in ray._raylet.check_status
ray.exceptions.AuthenticationError: RPC error: InvalidAuthToken: Authentication token is missing or incorrect. Ensure that the token for \
the cluster is available in a local file (e.g., ~/.ray/auth_token or via RAY_AUTH_TOKEN_PATH) or as the `RAY_AUTH_TOKEN` \
environment variable.

"""
NO_TOKEN = """\
  File "/usr/lib/python3.11/site-packages/ray/_private/authentication/authentication_token_setup.py", line 162, in \
ensure_token_if_auth_enabled
    raise AuthenticationError(
ray.exceptions.AuthenticationError: Token authentication is enabled but no authentication token was found. Ensure that the token for the \
cluster is available in a local file (e.g., ~/.ray/auth_token or via RAY_AUTH_TOKEN_PATH) or as the `RAY_AUTH_TOKEN` environment variable.
"""
UNREACHABLE = """\
2026-11-30 10:27:41,585\tINFO scripts.py:1234 -- \x1b[37mLocal node IP\x1b[39m: \x1b[1m10.0.0.8\x1b[22m
[2026-11-30 10:27:46,592 W 4 4] rpc_client.h:153: Failed to connect to GCS at address one-head-svc.default.svc.cluster.local:6379 \
within 5 seconds.
[2026-11-30 10:27:51,593 W 4 4] rpc_client.h:638: Failed to connect to the observability pubsub at address \
one-head-svc.default.svc.cluster.local:6379 within 5 seconds.
[2026-11-30 10:28:21,616 W 4 4] gcs_client.cc:210: Failed to get cluster ID from GCS server: TimedOut: Timed out while waiting \
for GCS to \
become available.
"""
NAME_UNKNOWN = """\
[2026-11-30 10:29:45,553 W 18 18] network_util.cc:74: Failed to resolve hostname 'one-head-svc.default.svc.cluster.local': IPv4 \
error: Host \
not found (non-authoritative), try again later, IPv6 error: Host not found (non-authoritative), try again later
[2026-11-30 10:29:45,554 W 18 18] network_util.cc:330: Failed to determine local IP via external connectivity to: \
one-head-svc.default.svc.cluster.local:6379, falling back to hostname resolution
[2026-11-30 10:29:50,561 W 18 18] rpc_client.h:153: Failed to connect to GCS at address \
one-head-svc.default.svc.cluster.local:6379 within 5 seconds.
"""
WAIT_NAME = """\
120 s: the GCS at {host}:6379 does not answer yet: bash: {host}: Name or service not known
bash: /dev/tcp/{host}/6379: Invalid argument
125 s: the GCS at {host}:6379 does not answer yet: bash: {host}: Name or service not known
bash: /dev/tcp/{host}/6379: Invalid argument
"""
WAIT_TIMEOUT = """\
251 s: the GCS at {host}:6379 does not answer yet: bash: connect: Connection timed out
bash: /dev/tcp/{host}/6379: Connection timed out
"""
OTHER_VERSION = """\
  File "/usr/lib/python3.11/site-packages/ray/_private/utils.py", line 1440, in check_version_info
    raise RuntimeError(error_message)
RuntimeError: Version mismatch: The cluster was started with:
    Ray: 2.60.0
    Python: 3.11.7
This process on node 10.0.0.8 was started with:
    Ray: 2.59.0
    Python: 3.11.7

"""
WAIT_OTHER_VERSION = """\
125 s: the GCS at one-head-svc.default.svc.cluster.local:6379 does not answer yet: Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/ray/scripts/scripts.py", line 140, in _check_ray_version
    raise RuntimeError(
RuntimeError: Ray version mismatch: cluster has Ray version 2.60.0 but local Ray version is 2.59.0
"""
RAYLET_LOST = """\
2026-11-30 10:39:14,742\tERR scripts.py:1307 -- \x1b[31mSome Ray subprocesses exited unexpectedly:\x1b[39m
2026-11-30 10:39:14,742\tERR scripts.py:82 -- \x1b[31m  \x1b[31m\x1b[1mraylet\x1b[22m\x1b[26m\x1b[2m [exit code=-9]\x1b[22m\x1b[39m
"""
