"""RayClusters of `cluster.ray.io/v1`, the Python operator's: each is turned into an owned one of `ray.io/v1`. Pure but for `observe`.

observed  what a decision may depend on
wanted    what the old object asks for, in the words of today
status    its phase, as it was promised, and how often the head was lost
plan      all of it put together
"""
