"""RayCronJob: when a RayJob is due, and which of them stay. Pure but for `observe`.

observed  what a decision may depend on
schedule  when it is due
policy    what annotations ask for: concurrency, a starting deadline, history
plan      all of it put together, with the status
"""
