"""ValidatingAdmissionPolicies: what they refuse and in which words, and what expressions come to.

Each policy looks at the case's own namespace only, as policies bind the whole cluster.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.case import Case, Step, case, delete, get, patch, post
from tests.conformance.cases import manifests as m

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{GROUP}/validatingadmissionpolicies", f"{GROUP}/validatingadmissionpolicybindings"
HERE = {"matchLabels": {"kubernetes.io/metadata.name": "${ns}"}}
WRITES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]
Obj = dict[str, Any]


def policy(name: str, validations: list[Obj], rules: list[Obj] | None = None, **spec: Any) -> Step:
    constraints = {"namespaceSelector": HERE, "resourceRules": rules or WRITES, **spec.pop("constraints", {})}
    return post(POLICIES, m.named(name, spec={"matchConstraints": constraints, "validations": validations, **spec}))


def binding(name: str, *actions: str, **spec: Any) -> Step:
    return post(BINDINGS, m.named(name, spec={"policyName": name, "validationActions": list(actions) or ["Deny"], **spec}))


def in_force(code: int = 422, **until: Any) -> Step:
    """A dry run that is refused once the policy is known to the server."""
    return post(f"{m.CONFIGMAPS}?dryRun=All", m.configmap("probe", {"bad": "yes"}), until={"code": code, **until}, unseen=True)


def gone(name: str) -> tuple[Step, Step]:
    return delete(f"{BINDINGS}/{name}", unseen=True), delete(f"{POLICIES}/{name}", unseen=True)


NOT_BAD = {"expression": "!has(object.data) || !('bad' in object.data)"}


def expressions(name: str, *texts: str) -> Case:
    """What each comes to, or why to nothing: as warnings."""
    key = f"expressions-{name}"
    # dyn: the checker does not stop what only fails when it runs.
    shown = [f"string(dyn({text}))" for text in texts]
    validations = [{"expression": f"{each} == 'never'", "messageExpression": each} for each in shown]
    known = post(f"{m.CONFIGMAPS}?dryRun=All", m.configmap("x"), until={"@Warning": True}, unseen=True)
    asked = post(f"{m.CONFIGMAPS}?dryRun=All", m.configmap("x", {"a": "1", "b": "two"}, labels={"l-1": "v"}))
    return case(key, policy(key, validations), binding(key, "Warn"), known, asked, *gone(key))


CASES = [
    case(
        "policy-life",
        policy("policy-life", [NOT_BAD]),
        get(f"{POLICIES}/policy-life", until={"code": 200}, unseen=True),
        binding("policy-life"),
        patch(f"{POLICIES}/policy-life", {"spec": {"failurePolicy": "Ignore"}}, unseen=True),
        patch(f"{BINDINGS}/policy-life", {"spec": {"validationActions": ["Warn", "Audit"]}}),
        delete(f"{BINDINGS}/policy-life"),
        delete(f"{POLICIES}/policy-life"),
        get(f"{POLICIES}/policy-life"),
    ),
    case(
        "policy-denies",
        policy(
            "policy-denies",
            [NOT_BAD, {"expression": "object.metadata.name != 'worse'", "message": "worse is no name", "reason": "Forbidden"}],
        ),
        binding("policy-denies"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("a", {"bad": "1"})),
        post(m.CONFIGMAPS, m.configmap("worse", {"bad": "1"})),
        post(m.CONFIGMAPS, m.configmap("worse")),
        post(m.CONFIGMAPS, m.configmap("a")),
        patch(f"{m.CONFIGMAPS}/a", {"data": {"bad": "1"}}),
        patch(f"{m.CONFIGMAPS}/a", {"data": {"good": "1"}}),
        post(m.SECRETS, m.named("bad", stringData={"bad": "1"}), unseen=True),
        delete(f"{m.CONFIGMAPS}/a"),
        *gone("policy-denies"),
    ),
    case(
        "policy-warns",
        policy("policy-warns", [NOT_BAD, {"expression": "false", "messageExpression": "'it is ' + object.metadata.name"}]),
        binding("policy-warns", "Warn"),
        post(f"{m.CONFIGMAPS}?dryRun=All", m.configmap("probe"), unseen=True),
        post(
            f"{m.CONFIGMAPS}?dryRun=All",
            m.configmap("w", {"bad": "1"}),
            until={"@Warning": True},
        ),
        *gone("policy-warns"),
    ),
    case(
        "policy-conditions-and-variables",
        policy(
            "policy-conditions",
            [
                {"expression": "variables.twice < 5", "messageExpression": "'twice is ' + string(variables.twice)"},
                {"expression": "variables.never || true"},
                {"expression": "variables.broken == 1", "message": "never said"},
            ],
            matchConditions=[{"name": "named", "expression": "object.metadata.name.startsWith('x') || has(object.data.bad)"}],
            variables=[
                {"name": "once", "expression": "size(object.metadata.name)"},
                {"name": "twice", "expression": "variables.once * 2"},
                {"name": "never", "expression": "object.spec.nothing"},
                {"name": "broken", "expression": "variables.never"},
            ],
        ),
        binding("policy-conditions"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("a")),
        post(m.CONFIGMAPS, m.configmap("xyz")),
        post(m.CONFIGMAPS, m.configmap("x")),
        *gone("policy-conditions"),
    ),
    case(
        "policy-fails",
        policy("policy-fails", [NOT_BAD, {"expression": "object.data.none == 'x'"}]),
        binding("policy-fails"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("a")),
        *gone("policy-fails"),
    ),
    case(
        "policy-ignores-what-fails",
        policy("policy-ignores", [NOT_BAD, {"expression": "object.data.none == 'x'"}], failurePolicy="Ignore"),
        binding("policy-ignores"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("b")),
        *gone("policy-ignores"),
    ),
    case(
        "policy-condition-fails",
        policy("policy-unsure", [NOT_BAD], matchConditions=[{"name": "odd", "expression": "object.data.none == 'x'"}]),
        binding("policy-unsure"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("a")),
        *gone("policy-unsure"),
    ),
    case(
        "policy-of-deletions",
        policy(
            "policy-of-deletions",
            [
                {
                    "expression": "oldObject.metadata.name != 'kept' && object == null && request.operation == 'DELETE'",
                    "message": "it is kept",
                }
            ],
            [{**WRITES[0], "operations": ["DELETE"]}],
        ),
        binding("policy-of-deletions"),
        post(m.CONFIGMAPS, m.configmap("kept")),
        delete(f"{m.CONFIGMAPS}/kept?dryRun=All", until={"code": 422}),
        delete(f"{m.CONFIGMAPS}/kept"),
        get(f"{m.CONFIGMAPS}/kept"),
        *gone("policy-of-deletions"),
    ),
    case(
        "policy-with-parameters",
        post(m.CONFIGMAPS, m.configmap("limits", {"most": "2"})),
        policy(
            "policy-with-parameters",
            [NOT_BAD, {"expression": "size(object.data) <= int(params.data.most)", "messageExpression": "'at most ' + params.data.most"}],
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        ),
        binding("policy-with-parameters", paramRef={"name": "limits", "parameterNotFoundAction": "Deny"}),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("a", {"x": "1", "y": "2", "z": "3"})),
        post(m.CONFIGMAPS, m.configmap("b", {"x": "1"})),
        *gone("policy-with-parameters"),
    ),
    case(
        "policy-matches",
        policy(
            "policy-matches",
            [{"expression": "false"}],
            [
                {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["configmaps", "boats"]},
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["serviceaccounts"], "resourceNames": ["one"]},
                {"apiGroups": ["sea.example"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*/*"]},
            ],
            constraints={
                "objectSelector": {"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]},
                "excludeResourceRules": [
                    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "resourceNames": ["let"]}
                ],
            },
        ),
        binding("policy-matches"),
        in_force(),
        post(m.BOATS, m.boat("b")),
        post(m.BOATS, m.boat("b", labels={"free": "yes"})),
        patch(f"{m.BOATS}/b/status", {"status": {"afloat": True}}),
        patch(f"{m.BOATS}/b", {"metadata": {"labels": {"free": None}}}),
        post(m.ACCOUNTS, m.named("one")),
        post(m.ACCOUNTS, m.named("two")),
        post(m.CONFIGMAPS, m.configmap("let")),
        *gone("policy-matches"),
    ),
    case(
        "policy-asks-rights",
        policy(
            "policy-asks-rights",
            [
                NOT_BAD,
                {
                    "expression": "authorizer.group('').resource('pods').namespace(request.namespace).check('create').allowed()",
                    "message": "no Pods",
                },
                {
                    "expression": "authorizer.serviceAccount(request.namespace, 'x').group('').resource('pods').check('get').allowed()",
                    "messageExpression": "request.resource.resource + ' ' + request.operation + ' ' + request.name",
                },
            ],
        ),
        binding("policy-asks-rights"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("a")),
        *gone("policy-asks-rights"),
    ),
    case(
        "policy-costs-too-much",
        policy(
            "policy-costs",
            [NOT_BAD, {"expression": "object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a != 'no'))))"}],
        ),
        binding("policy-costs"),
        in_force(),
        post(m.CONFIGMAPS, m.configmap("many", {f"k{index}": "v" for index in range(60)})),
        *gone("policy-costs"),
    ),
    case(
        "policy-refused",
        post(POLICIES, m.named("refused", spec={})),
        post(POLICIES, m.named("refused", spec={"matchConstraints": {"resourceRules": WRITES}})),
        policy("refused", [{"expression": "object."}]),
        policy("refused", [{"expression": "nothing == 1"}]),
        policy("refused", [{"expression": "'text'"}]),
        policy("refused", [{"expression": "variables.x == 1"}]),
        policy("refused", [{"expression": "true", "reason": "Because"}]),
        policy("refused", [{"expression": "true", "messageExpression": "1"}]),
        policy("refused", [{"expression": ""}]),
        policy("refused", [NOT_BAD], failurePolicy="Perhaps"),
        post(BINDINGS, m.named("refused", spec={})),
        binding("refused", "Deny", "Warn"),
        binding("refused", "Shout"),
    ),
    expressions(
        "of-texts",
        "'a,b,c'.split(',').join('-') + '|' + 'abc'.substring(1) + '|' + 'abc'.charAt(2)",
        "'Ab'.lowerAscii() + '|' + 'x y'.replace(' ', '_')",
        "string('abcb'.indexOf('b')) + string('abcb'.lastIndexOf('b')) + string(' a '.trim().size())",
        "'%s %d %.2f %x %b %e'.format(['a', 3, 1.5, 255, 5, 1234.5])",
        "'%s %s %s'.format([[1, 'a'], {'k': true}, null])",
        "string('foo123'.matches('[0-9]+$')) + string('foo'.startsWith('f')) + string('éa'.size())",
    ),
    expressions(
        "of-numbers",
        "string(7 / -2) + ' ' + string(-7 % 3) + ' ' + string(7.0 / 2.0) + ' ' + string(1e21) + ' ' + string(uint(3))",
        "int('42') + int(3.9) + int(true ? 1 : 0)",
        "9223372036854775807 + int(size(object.data))",
        "1 / (size(object.data) - 2)",
        "string(quantity('2Ki').asInteger()) + string(quantity('500m').compareTo(quantity('0.5')))",
        "string(quantity('1').add(quantity('250m')).isInteger())",
        "string([3, 1, 2].max()) + string([1, 2].sum()) + string([1, 3, 2].isSorted()) + string([1.5, 2.5].sum())",
    ),
    expressions(
        "of-times",
        "string(duration('1h30m') + duration('90s')) + ' ' + string(timestamp('2024-02-29T12:00:00.5Z') + duration('24h'))",
        "string(timestamp('2024-02-29T23:30:00Z').getDate('+01:00')) + string(timestamp('2024-02-29T23:30:00Z').getMonth()) "
        "+ string(timestamp('2024-02-29T23:30:00Z').getDayOfWeek()) + string(duration('90m').getMinutes())",
    ),
    expressions(
        "of-lists",
        "string([1, 2, 3].filter(x, x > 1).map(x, x * 2).size()) + string({'a': 1}.exists(k, k == 'a'))",
        "string([1, 2].exists_one(x, x == 1))",
        "string(sets.contains([1, 2], [2])) + string(sets.equivalent([1, 1], [1])) + string(sets.intersects([1], [2]))",
        "string([1, 2] == [1, 2]) + string(dyn({'a': 1}) == dyn({'a': 1.0})) + string(1 in [dyn(1.0)])",
        "string('a' in {'a': 1}) + string(dyn(1) == dyn(true))",
        "[1, 2][size(object.data)]",
        "object.data.nope",
        "object.?data.nope.orValue('none') + object.?data.?a.orValue('x') + optional.of('o').value() + string(object.?nope.hasValue())",
        "object.metadata.labels['l-1'] + string(has(object.metadata.annotations)) + string(object.data.all(k, v, v.size() > 0))",
    ),
    expressions(
        "of-the-net",
        "string(ip('10.0.0.1').family()) + string(cidr('10.0.0.0/8').containsIP('10.1.1.1')) + string(isIP('10.0.0'))",
        "string(isCIDR('::/0'))",
        "url('https://a.b:80/x?y=1').getHost() + url('https://a.b:80/x?y=1').getPort() + url('https://a.b/x%20y').getEscapedPath()",
    ),
]
