"""Which mutant, or which test where no mutant fits, stands for which seeded fault (reference: reliability, e).

The kinds are in the order RayCluster, RayJob, RayService, RayCronJob; a kind that a fault cannot befall is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.sim.mutants import crons, jobs, life, names, owners, runtime, services, status, stores

Stands = tuple[Any, ...]
"""Mutants, and tests by `file::name` below `tests/`."""

FROM_THE_RECORD: Mapping[str, Stands] = {
    "#66 deleted and made again: two heads, panic": (owners.predecessors_counted, services.no_uid, jobs.made_again),
    "#105 head deleted: two heads": (life.impatient_head, jobs.second_head),
    "#704, #1746 stale informer: Pods made twice": (names.old_view_believed, runtime.own_writes_not_awaited, services.third_cluster),
    "#3013 names by dice": (names.random_names, names.lives_of_all),
    "#745 a conflict is told": (status.conflicts_told, jobs.conflict_told, services.conflict_told, crons.conflict_told),
    "#756 409 after the submission: submitted twice": (jobs.any_life,),
    "#372 an evicted head is not replaced": (life.dead_head_kept,),
    "#1420 applications are not sent again": (services.apps_forgotten,),
    "#2315 an operator's upgrade restarts services": (
        "parity/test_black_box_pods.py::test_17_another_version_of_the_operator_makes_no_pod_anew",
        services.hash_of_the_operator,
    ),
    "#2374 the old cluster is never deleted": (services.old_cluster_stays,),
    "#2433 an upgrade sticks where the head Service has a name": (services.any_cluster_will_do,),
    "#2317, #3211 a submitter's retry under another id": (jobs.other_id,),
    "#4071 two write the job's id": (jobs.other_id, jobs.untested_fence),
    "#4080 a cluster leaks in K8sJobMode": (jobs.cluster_leaks, jobs.stray_left),
    "#4102 a spec with nothing in it ends the operator": (life.unreadable_spec_raises, jobs.nil_spec),
    "#4141, #4234 a head with a submitter comes again": (jobs.second_head, jobs.unfenced_sidecar),
    "#4807 no finalizer": (stores.finalizer_forgotten, services.released_at_once),
    "#4888 a schedule fires twice": (crons.ticks_twice,),
    "#5088 a cluster is never ready during an upgrade": (services.old_cluster_is_told, services.moves_too_early),
    "#4788 a shell runs what is in a parameter": ("resources/test_ray_start.py::test_what_a_shell_would_run_stays_text",),
}
FROM_THE_SOURCE: Mapping[str, Stands] = {
    "observedGeneration is not written alone": (
        status.generation_not_told,
        jobs.generation_unwritten,
        services.generation_unwritten,
        crons.generation_unwritten,
    ),
    "two heads are for ever": (life.second_head_kept,),
    "a create that timed out after it was done": (
        runtime.taken_names_told,
        names.one_too_many,
        runtime.lost_answers_forgotten,
        "runtime/test_apply.py::test_what_was_made_without_an_answer_is_waited_for_before_something_else_is_made",
    ),
    "the finalizer goes although the job was not stopped": (stores.released_at_once, jobs.released_unstopped),
    "a delete without a UID": (owners.deletes_without_uid, jobs.no_uid, services.no_uid, crons.no_uid),
    "deleted by label": (owners.by_label, owners.labels_and_owner),
    "c4 a Role of that name": (owners.role_by_name,),
    "c6 workersToDelete names somebody else's Pod": (owners.names_without_owner,),
    "c7 a Service of that name": (
        owners.service_by_name,
        "rayservice/test_incremental.py::test_a_name_that_is_somebody_elses_is_told",
    ),
    "c8 a Job of that name": (jobs.submitter_by_name, jobs.selected_cluster_goes),
    "c14 an answer without end": ("ray/test_gcs.py::test_an_answer_without_end_is_not_taken",),
    "c18 a Secret that was there before": ("raycluster/test_protection.py::test_somebody_elses_secret_is_never_used",),
    "c19 two names become one": ("parity/test_seen_on_the_peer.py::test_long_names_that_end_alike_take_nothing_from_each_other",),
}
FROM_OTHERS: Mapping[str, Stands] = {
    "a deletion is believed that is of before": (
        names.unfenced_deletes,
        names.stale_names,
        names.sure_without_lives,
        jobs.made_again,
        "sim/test_stale_owners.py::test_without_the_question_each_goes_wrong",
    ),
    "an event that was never seen": (runtime.lists_not_compared, names.early_pods_forgotten, runtime.children_unheard),
    "a restart in the middle of a resize": (
        names.forgotten_names,
        names.fences_not_written,
        "sim/test_hosted_storms.py::test_killed_at_any_request_it_ends_as_it_would_have",
    ),
    "no recovery by a rollback": (
        life.refusal_remembered,
        jobs.refusal_remembered,
        services.refusal_remembered,
        crons.refusal_remembered,
    ),
    "a label, an owner, a selector is spoilt": (
        owners.children_not_repaired,
        owners.nobodys_children,
        jobs.ownerless_cluster,
        services.ownerless_cluster,
        crons.ownerless_job,
        services.turned_service_stays,
    ),
    "a status is written again and again": (
        status.status_twice,
        jobs.talks_at_rest,
        services.talks_at_rest,
        services.sent_at_each_look,
        crons.talks_at_rest,
    ),
    "lists without end after a 410": ("runtime/test_informer.py::test_after_trouble_the_copy_is_true_again",),
    "a watch that hangs": ("runtime/test_informer.py::test_a_silent_watch_is_taken_up_where_it_stopped",),
    "who lost the lease writes on": (
        "runtime/test_gate.py::test_a_write_that_waits_for_a_connection_is_not_sent_once_the_gate_is_shut",
        "ray/test_pool.py::test_an_act_that_waited_is_not_sent_once_it_may_not_be",
    ),
    "versions run backwards: all is deleted": ("runtime/test_informer.py::test_a_server_restored_from_a_backup_is_listed_again",),
    "a clock's step ends a wait": (
        runtime.backoffs_by_the_wall,
        status.times_go_back,
        jobs.wrong_time_stays,
        crons.wrong_time_stays,
        "autoscaling/test_endings.py::test_a_drain_that_a_wrong_clock_dated_ahead_is_not_waited_for_until_then",
        "rayservice/test_wrong_turns.py::test_a_cluster_that_a_wrong_clock_marked_goes_after_its_delay",
    ),
}
CORPUS: Mapping[str, Stands] = {**FROM_THE_RECORD, **FROM_THE_SOURCE, **FROM_OTHERS}
