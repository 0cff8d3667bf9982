"""Ray as a third party: what its HTTP APIs say and take, as values (pure), and the one pool that speaks to all of them (shell).

Ray is slow, absent or hostile: every call has a deadline and a size cap and runs outside the reconcile workers, and what was last heard is
an observation with an age (designs/0004).

answer   what was asked, what was heard, and when
jobs     the Jobs API
serve    the Serve API
documents  YAML as Kubernetes reads it
runtime_env  what `runtimeEnvYAML` says
serve_config  what a Serve config says, and what is wrong with it
lane     who waits for which cluster
pool     who is asked next
http     how a dashboard is reached directly
gcs      the autoscaler's side of many heads' GCS, over gRPC; gcs_messages: its messages
"""
