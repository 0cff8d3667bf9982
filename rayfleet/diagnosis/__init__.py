"""Why a RayCluster, RayService, RayJob or RayCronJob is in the state it is in: from frozen values to findings. Pure.

situation   what was read: the cluster, its Pods, Events, tails of logs, what could not be read
pod_state   a Pod as far as a diagnosis reads it
reading     which Pods, Events and logs are worth reading
finding     what is seen, where, why, and what to try next
diagnose    the table of contents: the cluster, what the API refused, each Pod; causes before what follows from them
refusals    what the API or the operator refused
replaced    Pods that had failed and are gone
pods        what is wrong with one Pod
containers  what is wrong with one container
log_lines   what a line of Ray's log means
connection  a worker that cannot reach the head
maker       what was read of the other kinds, and what is said of all of them; services, jobs and cron_jobs: of each
"""
