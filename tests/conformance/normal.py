"""What no two servers can have in common, and what stands in its place before answers are compared. Nothing else is changed.

Paths are exact; `[*]` is any element of a list, `{*}` any key. OBJECT paths begin at an object, wherever one can stand in an answer
(WHERE); OTHER paths begin at the body. A value that is absent stays absent: so it is seen whether a server gives one.
"""

from __future__ import annotations

import json
import re
from typing import Any

WHERE = ("", "items[*].", "[*].object.", "rows[*].object.", "[*].object.rows[*].object.")
"""an object by itself, in a list, in a watch event, in a table's row, in a watch event's table"""

DROP, APPLIED, TIME, UID, VERSION, ADDRESS, PORT, TOKEN, CONTINUE, NAME = (
    "drop", "applied", "time", "uid", "version", "address", "port", "token", "continue", "name",
)  # fmt: skip

OBJECT: dict[str, str] = {
    "metadata.managedFields": APPLIED,
    "metadata.managedFields[*].time": TIME,
    "metadata.creationTimestamp": TIME,
    "metadata.deletionTimestamp": TIME,
    "metadata.resourceVersion": VERSION,
    "metadata.uid": UID,
    "metadata.ownerReferences[*].uid": UID,
    "details.uid": UID,
    "status.conditions[*].lastTransitionTime": TIME,
    "status.conditions[*].lastProbeTime": TIME,
    "status.lastPhaseTransitionTime": TIME,
    "status.startTime": TIME,
    "status.completionTime": TIME,
    "spec.clusterIP": ADDRESS,
    "spec.clusterIPs[*]": ADDRESS,
    "spec.ports[*].nodePort": PORT,
    "spec.healthCheckNodePort": PORT,
    # A Job's controller writes its uid into its Pods and its selector.
    'spec.selector.matchLabels["batch.kubernetes.io/controller-uid"]': UID,
    'spec.template.metadata.labels["batch.kubernetes.io/controller-uid"]': UID,
    'spec.template.metadata.labels["controller-uid"]': UID,
    'metadata.labels["batch.kubernetes.io/controller-uid"]': UID,
    'metadata.labels["controller-uid"]': UID,
    # EndpointSlices are named and numbered by their controller.
    "endpoints[*].targetRef.uid": UID,
    'metadata.annotations["endpoints.kubernetes.io/last-change-trigger-time"]': TIME,
    # TokenRequest and its reviews.
    "status.token": TOKEN,
    "spec.token": TOKEN,
    'data["ca.crt"]': TOKEN,
    "status.expirationTimestamp": TIME,
    "status.userInfo.uid": UID,
    "status.user.uid": UID,
    "status.user.extra": DROP,
    "status.userInfo.extra": DROP,
}

OTHER: dict[str, str] = {
    "metadata.continue": CONTINUE,
    # of a build
    "gitCommit": DROP,
    "buildDate": DROP,
    "goVersion": DROP,
    "platform": DROP,
    "compiler": DROP,
    "serverAddressByClientCIDRs[*].serverAddress": ADDRESS,
    "resources[*].storageVersionHash": DROP,
}

GENERATED = re.compile(r"\b(?P<prefix>[gG]en-(?:\d+-)?|kube-api-access-|headless-|clustered-)(?P<end>[bcdfghjklmnpqrstvwxz2456789]{5})\b")
"""Names that a server drew: the drawn end becomes xxxxx. Cases that draw names use these prefixes."""
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
"""in sentences, such as those of a failed precondition"""
VERSION_TEXT = re.compile(
    r"(?P<before>resource version: \d+ \(|resource version: |current: "
    r"|ResourceVersion in the precondition \(|ResourceVersion in record \()\d+"
)
"""in sentences"""
AGE_CELL = re.compile(r"^\d+[smhd]$|^\d+m\d+s$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
"""a cell of a table: an age, or a time"""


class Normal:
    """One case on one server: equal uids get equal signs, so that who refers to whom is compared as well."""

    def __init__(self) -> None:
        self._uids: dict[str, str] = {}
        self._versions: dict[str, list[str]] = {}

    def answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        body = json.loads(json.dumps(answer.get("body")))
        for prefix in WHERE:
            for path, sign in OBJECT.items():
                self._replace(body, _steps(prefix + path), sign, None)
        for path, sign in OTHER.items():
            self._replace(body, _steps(path), sign, None)
        return {**answer, "body": self._texts(body)}

    def _replace(self, value: Any, steps: list[str], sign: str, above: Any) -> None:
        step, rest = steps[0], steps[1:]
        if step == "[*]":
            for index in range(len(value)) if isinstance(value, list) else ():
                if rest:
                    self._replace(value[index], rest, sign, above)
                else:
                    value[index] = self._sign(value[index], sign, above)
        elif isinstance(value, dict) and step in value:
            if rest:
                self._replace(value[step], rest, sign, value)
            elif sign == DROP:
                del value[step]
            elif sign == APPLIED:
                _keep_applied(value, step)
            else:
                value[step] = self._sign(value[step], sign, value)

    def _sign(self, value: Any, sign: str, parent: Any) -> Any:
        if value in (None, "", "None", 0) or (isinstance(value, str) and value.startswith("<")):
            return value
        if sign == UID:
            return self._uid(str(value))
        if sign == VERSION:
            return self._version(str(value), parent)
        return f"<{sign}>"

    def _uid(self, value: str) -> str:
        return self._uids.setdefault(value, f"<uid-{len(self._uids) + 1}>")

    def _version(self, value: str, meta: Any) -> str:
        """Numbered by object: so it is seen whether a write changed it."""
        if not isinstance(meta, dict) or "uid" not in meta:
            return "<version>"
        known = self._versions.setdefault(self._uid_of(meta["uid"]), [])
        if value not in known:
            known.append(value)
        return f"<version-{known.index(value) + 1}>"

    def _in_text(self, text: str) -> str:
        return UUID.sub(lambda found: self._uid(found[0]), text)

    def _uid_of(self, value: str) -> str:
        return value if value.startswith("<") else self._uid(value)

    def _texts(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {self._in_text(name): self._texts(member, name) for name, member in value.items()}
        if isinstance(value, list):
            return [self._texts(item, key) for item in value]
        if not isinstance(value, str):
            return value
        text = GENERATED.sub(lambda found: found["prefix"] + "xxxxx", value)
        text = self._in_text(text)
        text = VERSION_TEXT.sub(r"\g<before><version>", text)
        return "<age>" if key == "cells" and AGE_CELL.match(text) else text


def _keep_applied(meta: dict[str, Any], field: str) -> None:
    """Which manager updated which field is kept by the embedded API only beside what was applied, and told more coarsely.

    In the order of names: a server's own begins with the second in which each applied last.
    """
    kept = [entry for entry in meta[field] or () if entry.get("operation") == "Apply"]
    meta[field] = sorted(kept, key=lambda entry: (entry.get("manager", ""), entry.get("subresource", "")))
    if not meta[field]:
        del meta[field]


def _steps(path: str) -> list[str]:
    found = re.findall(r'\["[^"]*"\]|\[\*\]|[^.\[\]]+', path)
    return [step[2:-2] if step.startswith('["') else step for step in found]
