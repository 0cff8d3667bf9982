"""RayJob: decisions about one job and its tries. Pure but for `observe`.

observed    what a decision may depend on
states      the state machine, as tables
findings    which row of the table holds
deadlines   when something is due, and when to look again
tries       what is remembered of tries that are over
submission  what Ray is told
cluster     the cluster of the present try
deletion    what goes when the job has ended, and the finalizer
status      what the status says
plan        all of it put together
"""
