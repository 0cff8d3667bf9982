"""The simulator: the operator in a pretended world, on virtual time, with the same end for the same seed. And the offline host.

clock       an event loop that jumps instead of waiting
store       the API server's semantics in memory
cache       what a process sees of it: late, and in any order between kinds
client      what a process writes to it: slowly, with faults
leader      one operator process: the runtime's own controllers around the real planners
kubelet     nodes, and the garbage collector; jobs: the Job controller
rays        Ray on every head that runs, with its jobs API (ray_jobs) and Serve (serve); submitters: who submits from a Pod
faults      what can happen to one request
chaos       what happens meanwhile: edits by users, and accidents
world       all of it put together
judge       what must hold after every write of any kind's operator; invariants: what must besides of RayClusters
end_state   is the cluster what its spec wants?
storm       random faults for a while, then silence
scenarios   stories, and transcript their words: tests/transcripts/*.golden
job_storm   the same for a RayJob: job_chaos is what befalls it, job_rules what must hold; many: storms of any kind on all processors
serve_storm the same for a RayService: serve_chaos, serve_rules; shop_front its proxies and customers, slices where Services lead
cron_storm  the same for a RayCronJob
job_life    one RayJob on a few objects, without a control plane: for tests that say what Ray does (job_surroundings: what is around it)
serve       a Serve on every head; service_life: one RayService with it (service_objects: its objects), service_shop: one that goes on by
            itself, service_storm: faults
hosted_storm clusters that the operator sizes: hosted_chaos, sizes what must hold; sized_ray their Ray, sized_line how it answers and lies
gcs         a head's GCS that says what it is told to, over real gRPC
ideal_world one in which all goes well, and ideal_ray its Ray
ideal       `rayfleet render` and `rayfleet plan`: no faults, no time, no network
"""
