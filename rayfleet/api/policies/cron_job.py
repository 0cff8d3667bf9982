"""What is wrong with a RayCronJob itself: its schedule as far as its form goes, and what annotations ask for."""

from __future__ import annotations

from rayfleet.api.labels import CONCURRENCY, FAILED_HISTORY, STARTING_DEADLINE, SUCCESSFUL_HISTORY
from rayfleet.api.policies.form import Check, Variable
from rayfleet.api.validation.ray_cron_job import POLICIES

DESCRIPTORS = "@(yearly|annually|monthly|weekly|daily|midnight|hourly)"
FORM = rf"^\\s*({DESCRIPTORS}|@every\\s.*|[^\\s]+(\\s+[^\\s]+){{4}})\\s*$"
COUNTS = (STARTING_DEADLINE, SUCCESSFUL_HISTORY, FAILED_HISTORY)
VARIABLES = (Variable("job", "has(object.spec.jobTemplate) ? object.spec.jobTemplate : {}"),)
CHECKS = (
    Check("!object.spec.schedule.contains('TZ=')", "spec.schedule: it names a zone; name it in spec.timeZone"),
    Check(
        f"object.spec.schedule.matches('{FORM}')",
        "spec.schedule: it must have cron's five fields, be one of @hourly, @daily, @weekly, @monthly, @yearly, or @every and a duration",
    ),
    Check(
        f"!('{CONCURRENCY}' in variables.annotations) || variables.annotations['{CONCURRENCY}'] in {['', *POLICIES]}",
        f"metadata.annotations[{CONCURRENCY}]: it must be one of {', '.join(POLICIES)}",
    ),
    Check(
        f"{list(COUNTS)}.all(a, !(a in variables.annotations) || variables.annotations[a].matches('^[0-9]*$'))",
        "metadata.annotations: the starting deadline and the history limits must be whole numbers, 0 or more",
    ),
)
