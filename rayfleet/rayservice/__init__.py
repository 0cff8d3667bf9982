"""A RayService: observe (shell), plan and judge (pure).

observed    the frozen value that every decision depends on
observe     reads it, and says what is asked of Ray; decides nothing
validity    is the spec one that can be acted on?
clusters    which cluster is active, pending, or needed no longer; what is made, changed and deleted of them
serve       the Serve config: when and to which cluster it is sent
traffic     the head's label, and the Services that lead to the cluster that serves
suspension  nothing is left running
finalize    deletion
judgement   the conditions
status      judged on what was observed, and written only when its meaning changed
plan        the table of contents
"""
