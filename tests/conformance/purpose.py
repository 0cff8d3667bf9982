"""Where the embedded API differs: on purpose, and where it should not. docs/embedded-api.md is made from this."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

_BRACKETS = str.maketrans("[]", "()")


@dataclass(frozen=True)
class Difference:
    """`cases` and `paths` are patterns (`*`); a path begins with the number of the exchange. `reason` is one sentence."""

    cases: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str

    def covers(self, case: str, path: str) -> bool:
        plain = path.translate(_BRACKETS)
        return any(fnmatchcase(case, each) for each in self.cases) and any(
            fnmatchcase(plain, each.translate(_BRACKETS)) for each in self.paths
        )


PURPOSES: tuple[Difference, ...] = (
    Difference(
        ("*",),
        ("*columnDefinitions[*].description",),
        "Columns have no descriptions: kubectl does not show them, and they are Kubernetes' texts.",
    ),
    Difference(
        ("core-resources", "core-versions", "groups", "group-*", "aggregated-core"),
        ("*.body.resources*", "*.body.groups*", "*.body.items[0].versions[0].resources*", "*.serverAddressByClientCIDRs*"),
        "Kinds that nothing on a laptop uses are not served, and no address is told: a fleet has one.",
    ),
    Difference(
        ("version",),
        ("*.body.*",),
        "It says that it is not Kubernetes, and as which version it behaves.",
    ),
    Difference(
        ("anonymous", "wrong-token", "authorization-of-odd-bytes"),
        ("*",),
        "Nobody is served without a good token: a fleet has no anonymous users, so that is 401 and not 403.",
    ),
    Difference(
        (
            "no-json",
            "wrong-kind",
            "delete-options-refused",
            "broken-continue",
            "broken-label-selectors",
            "broken-field-selectors",
            "odd-queries",
            "numbers-too-large",
            "scales-refused",
            "*-mistyped",
            "odd-yaml",
            "schema-embedded",
        ),
        ("*.body.message",),
        "The sentences of Go's parsers are not imitated; code and reason are the same.",
    ),
    Difference(
        ("objects-too-large",),
        ("[2].body.message",),
        "What is more than 1.5 MiB as JSON is refused in one sentence, and in Kubernetes by the way on which it fails.",
    ),
    Difference(
        ("odd-yaml",),
        ("*.headers.Warning",),
        "Of keys that stand twice in YAML the last one counts, and nobody is warned: kubectl sends JSON, of which it is told.",
    ),
    Difference(
        ("rules-too-costly-refused",),
        ("*",),
        "What a rule may cost is not estimated, but counted when it runs: all rules that judge one write have 1,000,000 units.",
    ),
    Difference(
        ("pod-changes", "pod-with-owner-and-annotations"),
        ("*.body.message", "*.body.details.causes[0].message"),
        "The refusal does not show the two specs side by side.",
    ),
    Difference(
        ("json-patch-refused", "merge-patch-refused", "patches-that-grow", "field-validation-strict", "custom-metadata"),
        ("*.body.message", "*.body.details.causes[0].message"),
        "The refusal quotes the object that the patch would have made: the order of its members is another.",
    ),
    Difference(
        ("life-of-persistentvolumeclaim", "table-of-claims", "kind-volume"),
        ("*.metadata.finalizers*",),
        "No claim or volume is protected by a finalizer: a directory stays until the last Pod that uses it has ended.",
    ),
    Difference(
        ("life-of-node", "status-of-core-kinds", "cluster-wide-owners", "nodes-mistyped"),
        ("*.spec.taints*",),
        "A node without a kubelet is not tainted: nothing schedules by taints, there is one node.",
    ),
    Difference(
        (
            "life-of-a-definition",
            "definition-*",
            "rules-that-fit",
            "rules-without-an-end",
            "columns-that-lead-nowhere",
            "definitions-mistyped",
            "patterns-of-rules-refused",
        ),
        ("*.status.acceptedNames.*", "*.status.conditions", "*.metadata.resourceVersion"),
        "A definition is served, and says so, in the answer to its creation: nobody has to wait for it, and kubectl wait finds it done.",
    ),
    Difference(
        ("headless-service-changes",),
        ("*.resourceVersion",),
        "Only a server-side apply is told in managedFields, so a patch that would change nothing but them writes nothing.",
    ),
    Difference(
        ("apply-refusals",),
        ("[7].*",),
        "A value of the wrong type is refused by the decoder of the kind, as in every other write.",
    ),
    Difference(
        ("schema-junctions",),
        ("*.body.message", "*.body.details.causes*"),
        "How many of the schemas of a oneOf fit is not counted, and what the nearest one lacks is not told.",
    ),
    Difference(
        ("scale-is-applied",),
        ("*",),
        "A scale is replaced or patched, not applied: 415; Kubernetes finds conflicts there that it cannot be forced over (500).",
    ),
    Difference(
        ("impersonation-refused",),
        ("*.body.details.kind", "*.body.details.name", "*.body.message"),
        "Who may impersonate may do all that the other may: rights to impersonate for single verbs are not looked for.",
    ),
    Difference(
        ("job-by-index-refused",),
        ("*",),
        "Limits and success by index are not done by the controller, and so not taken: 422, a job that would end otherwise helps nobody.",
    ),
    Difference(
        ("slices-go-with-pods-and-services",),
        ("*.metadata.generation",),
        "How many steps the controller takes is a matter of time.",
    ),
)
"""right for a laptop"""

GAPS: tuple[Difference, ...] = ()
"""not right: to be mended"""

TABLE = PURPOSES + GAPS


def covered(case: str, path: str) -> bool:
    return any(difference.covers(case, path) for difference in TABLE)
