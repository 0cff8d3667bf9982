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
        ("anonymous", "wrong-token"),
        ("*",),
        "Nobody is served without a good token: a fleet has no anonymous users, so that is 401 and not 403.",
    ),
    Difference(
        ("no-json", "wrong-kind", "delete-options-refused", "broken-continue", "broken-label-selectors", "broken-field-selectors"),
        ("*.body.message",),
        "The sentences of Go's parsers are not imitated; code and reason are the same.",
    ),
    Difference(
        ("services-refused", "definitions-refused"),
        ("*.body.message", "*.body.details.causes[0].message"),
        "Go's print of a whole structure is not imitated; code, reason and field are the same.",
    ),
    Difference(
        ("pod-changes", "pod-with-owner-and-annotations"),
        ("*.body.message", "*.body.details.causes[0].message"),
        "The refusal does not show the two specs side by side.",
    ),
    Difference(
        ("json-patch-refused", "merge-patch-refused", "field-validation-strict", "custom-metadata"),
        ("*.body.message", "*.body.details.causes[0].message"),
        "The refusal quotes the object that the patch would have made: the order of its members is another.",
    ),
    Difference(
        ("field-validation-of-duplicates",),
        ("*",),
        "A member that stands twice in a JSON object is not noticed (the last one counts): that would cost every write a second parse.",
    ),
    Difference(
        ("life-of-persistentvolumeclaim", "table-of-claims"),
        ("*.metadata.finalizers*",),
        "No claim is protected: a claim is a directory, and no controller would release it.",
    ),
    Difference(
        ("life-of-node", "status-of-core-kinds", "cluster-wide-owners"),
        ("*.spec.taints*",),
        "A node without a kubelet is not tainted: nothing schedules by taints, there is one node.",
    ),
    Difference(
        ("life-of-a-definition", "definition-*"),
        ("*.metadata.finalizers", "*.status.acceptedNames.*", "*.status.conditions*", "*.metadata.resourceVersion"),
        "A definition is served, and says so, in the answer to its creation: no controller works on it.",
    ),
    Difference(
        ("names-taken-twice",),
        ("*",),
        "Two definitions of one kind are both served: no controller arbitrates names.",
    ),
    Difference(
        ("strategic-patch-pod", "table-of-pods", "status-of-core-kinds"),
        ("*.status.*",),
        "The status of a built-in kind is kept as its writer wrote it, without defaults: the kubelet writes it whole.",
    ),
    Difference(
        ("watch-of-tables",),
        ("*.columnDefinitions",),
        "Every table of a watch says its columns, not the first alone.",
    ),
    Difference(
        ("watch-too-old",),
        ("*.object.message",),
        "The newest version that the sentence names is another server's.",
    ),
    Difference(
        ("slices-go-with-pods-and-services",),
        ("*.metadata.generation",),
        "How many steps the controller takes is a matter of time.",
    ),
    Difference(
        ("service-options",),
        ("*.spec.ipFamilies[1]", "*.spec.ipFamilyPolicy"),
        "A fleet's network has one family, so a headless Service without selector is not dual-stack.",
    ),
    Difference(
        ("broken-continue",),
        ("*.body.items*", "*.body.metadata.*"),
        "A negative limit is a limit.",
    ),
    Difference(
        ("lists-of-metadata",),
        ("*.items",),
        "An empty list is [], never null.",
    ),
)
"""right for a laptop"""

GAPS: tuple[Difference, ...] = (
    Difference(
        ("schemas-refused", "rules-of-a-schema-refused", "definitions-refused"),
        ("*",),
        "A definition's schema is checked for patterns alone, and its CEL rules when the first object comes.",
    ),
    Difference(
        ("life-of-endpoints",),
        ("*.headers.Warning",),
        "Refusals do not repeat that a version is deprecated.",
    ),
    Difference(
        ("wrong-kind",),
        ("*",),
        "An object of another kind is refused before it is judged by the schema.",
    ),
    Difference(
        ("pod-resources-refused",),
        ("*.details.causes[1]", "*.message"),
        "Names of resources without a domain are not looked up in the list of standard ones.",
    ),
    Difference(
        ("new-events-refused",),
        ("*",),
        "An event of the new group without eventTime is taken for an old one.",
    ),
    Difference(
        ("headless-service-changes",),
        ("*.resourceVersion",),
        "A patch of a Service that changes nothing writes nothing.",
    ),
    Difference(
        ("schema-types",),
        ("*.causes*", "*.message"),
        "A number that is no integer has one cause, not two.",
    ),
    Difference(
        ("pruning",),
        ("*.headers.Warning",),
        "Unknown fields in the metadata of an embedded object are kept without a warning.",
    ),
    Difference(
        ("status-schema",),
        ("*.message", "*.details.causes[1]"),
        "A status of a wrong type does not say that rules were left unchecked.",
    ),
)
"""not right, and not much: to be mended"""

TABLE = PURPOSES + GAPS


def covered(case: str, path: str) -> bool:
    return any(difference.covers(case, path) for difference in TABLE)
