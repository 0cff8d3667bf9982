"""A RayService: observe (shell), plan and judge (pure).

observed    the frozen value that every decision depends on
observe     reads it, and says what is asked of Ray; decides nothing
validity    is the spec one that can be acted on?
clusters    which cluster is active, pending, or needed no longer; what is made, changed and deleted of them
serve       the Serve config: when and to which cluster it is sent
traffic     the head's label, and the Services that lead to the cluster that serves
route       what an incremental upgrade's HTTPRoute says
incremental the shares of two clusters, from step to step: arithmetic
steps       the same from what is observed
gateway     the Gateway, the HTTPRoute, and the Services that it leads to
children    one child, held to its manifest
suspension  nothing is left running
finalize    deletion
judgement   the conditions
status      judged on what was observed, and written only when its meaning changed
plan        the table of contents
"""
