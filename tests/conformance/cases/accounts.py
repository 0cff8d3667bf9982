"""Service accounts, their tokens, and who may do what."""

from __future__ import annotations

from tests.conformance.case import case, get, patch, post
from tests.conformance.cases import manifests as m

TOKEN = f"{m.ACCOUNTS}/robot/token"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
make = post(m.ACCOUNTS, m.named("robot"), unseen=True)
token = post(TOKEN, {"spec": {}}, keep={"token": "status.token"}, unseen=True)
AS_ROBOT = {"Authorization": "Bearer ${token}"}
READ = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
SUBJECT = [{"kind": "ServiceAccount", "name": "robot", "namespace": "${ns}"}]


def may(verb: str, resource: str, namespace: str = "${ns}", **more: str) -> object:
    asked = {"verb": verb, "resource": resource, "namespace": namespace, **more}
    return post(REVIEW, {"spec": {"resourceAttributes": asked}}, headers=AS_ROBOT)


def bound(rules: object) -> tuple[object, ...]:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    return (
        post(m.ROLES, m.named("r", rules=rules), unseen=True),
        post(m.BINDINGS, m.named("r", roleRef=role, subjects=SUBJECT), unseen=True),
        post(
            REVIEW,
            {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "${ns}"}}},
            headers=AS_ROBOT,
            until={"status.allowed": True},
            unseen=True,
        ),
    )


AS_ANN = {"Impersonate-User": "ann"}
AS_ACCOUNT = {"Impersonate-User": "system:serviceaccount:${ns}:robot"}

CASES = [
    case(
        "impersonation",
        post(WHO, {}, headers=AS_ANN),
        post(WHO, {}, headers={**AS_ANN, "Impersonate-Group": "crew", "Impersonate-Uid": "7"}),
        post(WHO, {}, headers=AS_ACCOUNT),
        get(f"{m.PODS}/a", headers=AS_ANN),
        post(m.CONFIGMAPS, m.configmap("a"), headers=AS_ANN),
        post(m.CONFIGMAPS, m.configmap("a"), headers={**AS_ANN, "Impersonate-Group": "system:masters"}),
    ),
    case(
        "impersonation-refused",
        make,
        token,
        get(m.PODS, headers={**AS_ROBOT, **AS_ANN}),
        get(m.PODS, headers={**AS_ROBOT, "Impersonate-User": "system:serviceaccount:${ns}:other"}),
        get(m.PODS, headers={"Impersonate-Group": "crew"}),
    ),
    case(
        "impersonation-of-who-may-read",
        make,
        token,
        *bound(READ),
        get(m.PODS, headers=AS_ACCOUNT),
        get(f"{m.CONFIGMAPS}/a", headers=AS_ACCOUNT),
    ),
    case("every-namespace-has-an-account", get(f"{m.ACCOUNTS}/default"), get(f"{m.CONFIGMAPS}/kube-root-ca.crt", until={"code": 200})),
    case(
        "token-request",
        make,
        post(TOKEN, {"spec": {"expirationSeconds": 600}}),
        post(TOKEN, {"spec": {"audiences": ["me"]}}),
        post(TOKEN, {}),
    ),
    case(
        "token-request-refused",
        make,
        post(f"{m.ACCOUNTS}/absent/token", {"spec": {}}),
        post(TOKEN, {"spec": {"expirationSeconds": 1}}),
        post(TOKEN, {"spec": {"expirationSeconds": 5000000000}}),
        post(TOKEN, {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "absent"}}}),
    ),
    case(
        "token-bound-to-a-pod",
        make,
        post(m.PODS, m.pod("a", {"serviceAccountName": "robot"}), keep={"uid": "metadata.uid"}, unseen=True),
        post(TOKEN, {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a", "uid": "${uid}"}}}),
        post(TOKEN, {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a", "uid": "another"}}}),
    ),
    case("who-a-token-is", make, token, post(WHO, {}, headers=AS_ROBOT)),
    case(
        "token-review",
        make,
        token,
        post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "${token}"}}),
        post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nonsense"}}),
    ),
    case(
        "wrong-token",
        get(m.PODS, headers={"Authorization": "Bearer nonsense"}),
        get("/api/v1/nodes", headers={"Authorization": "Basic eDp5"}),
    ),
    case("anonymous", get(m.PODS, headers={"Authorization": ""}), get("/readyz", headers={"Authorization": ""})),
    case(
        "accounts-may-nothing-by-default",
        make,
        token,
        may("get", "pods"),
        get(m.PODS, headers=AS_ROBOT),
        get(f"{m.PODS}/a", headers=AS_ROBOT),
        post(m.CONFIGMAPS, m.configmap("a"), headers=AS_ROBOT),
        get("/api/v1/nodes", headers=AS_ROBOT),
        patch(f"{m.BOATS}/a/status", {}, headers=AS_ROBOT),
    ),
    case(
        "accounts-may-what-a-role-says",
        make,
        token,
        *bound(READ),
        may("get", "pods"),
        may("list", "pods"),
        may("delete", "pods"),
        may("get", "pods", "default"),
        may("get", "pods", subresource="log"),
        get(m.PODS, headers=AS_ROBOT),
        get("/api/v1/namespaces/default/pods", headers=AS_ROBOT),
    ),
    case(
        "roles-of-names-and-subresources",
        make,
        token,
        *bound(
            [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["mine", ""]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
                {"apiGroups": ["sea.example"], "resources": ["boats/status"], "verbs": ["*"]},
                {"apiGroups": ["*"], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["get", "patch"]},
            ]
        ),
        may("patch", "boats", group="sea.example", subresource="status"),
        may("patch", "boats", group="sea.example"),
        may("get", "configmaps", name="mine"),
        may("get", "configmaps", name="other"),
        may("list", "configmaps"),
    ),
    case(
        "rules-of-admins",
        post(REVIEW, {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}}),
        post(REVIEW, {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}}),
        post(REVIEW, {"spec": {}}),
        post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"spec": {"user": "nobody", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "${ns}"}}},
        ),
    ),
]
