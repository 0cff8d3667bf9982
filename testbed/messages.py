"""Writes rayfleet/apiserver/messages.txt: the numbers and types of the fields that Kubernetes' own clients send as protobuf.

usage: python -m testbed.messages      reads the Go types of the test bed's module (k8s.io/api, k8s.io/apimachinery) from Go's module cache

A line is a message: NAME|NUMBER FIELD TYPE|... A FIELD is the name in JSON, empty for a struct that stands inline; with ? it is left out
when it is empty (a pointer never is). TYPE: s string, b bytes, B boolean, i integer, [T repeated, {T a map from strings, else the name of a
message.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from testbed.build import HERE, go

TARGET = HERE.parent / "rayfleet" / "apiserver" / "messages.txt"
GROUPS = (
    "core", "batch", "coordination", "networking", "policy", "rbac", "storage", "scheduling", "node", "discovery", "events",
    "authentication", "authorization", "admissionregistration",
)  # fmt: skip
ROOTS = {
    "core": "Pod Service ConfigMap Secret Namespace Node Event Endpoints ServiceAccount ResourceQuota LimitRange PersistentVolume "
    "PersistentVolumeClaim Binding",
    "batch": "Job",
    "coordination": "Lease",
    "networking": "Ingress IngressClass NetworkPolicy",
    "policy": "PodDisruptionBudget Eviction",
    "rbac": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "storage": "StorageClass",
    "scheduling": "PriorityClass",
    "node": "RuntimeClass",
    "discovery": "EndpointSlice",
    "events": "Event",
    "authentication": "TokenRequest TokenReview SelfSubjectReview",
    "authorization": "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview",
    "admissionregistration": "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    "meta": "DeleteOptions CreateOptions UpdateOptions PatchOptions",
}
BASIC = {"string": "s", "[]byte": "b", "bool": "B", "int": "i", "int32": "i", "int64": "i", "float64": "f", "byte": "i"}
SPECIAL = {"Time", "MicroTime", "Duration", "FieldsV1", "Quantity", "IntOrString", "RawExtension"}
"""decoded by hand"""
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_ALIAS = re.compile(r"^type (\w+) ((?:map\[|\[\])?[\w.\]\[*]+)$", re.MULTILINE)
_FIELD = re.compile(r"^\s+(?:\w+\s+)?([\w.*\[\]]+)\s+`json:\"([^\"]*)\"[^`]*protobuf:\"(\w+),(\d+),[^`]*`", re.MULTILINE)
_IMPORT = re.compile(r"^\s+(?:(\w+)\s+)?\"(k8s\.io/[\w./]+)\"", re.MULTILINE)


class Package:
    """The types of one Go package."""

    def __init__(self, name: str, files: list[Path]) -> None:
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        self.name = name
        self.structs = {found[1]: found[2] for found in _STRUCT.finditer(text)}
        self.aliases = {found[1]: found[2] for found in _ALIAS.finditer(text)}
        self.imports = {found[1] or found[2].rsplit("/", 1)[1]: _short(found[2]) for found in _IMPORT.finditer(text)}


def _short(path: str) -> str:
    """core for k8s.io/api/core/v1; other versions are nobody's."""
    parts = path.split("/")
    return parts[-2] if parts[-1] == "v1" else path


def packages() -> dict[str, Package]:
    found = {}
    for module, group in [*(("k8s.io/api", f"{group}/v1") for group in GROUPS), ("k8s.io/apimachinery", "pkg/apis/meta/v1")]:
        where = subprocess.run([go(), "list", "-m", "-f", "{{.Dir}}", module], cwd=HERE, capture_output=True, text=True, check=True)
        directory = Path(where.stdout.strip()) / group
        name = "meta" if "meta" in group else group.partition("/")[0]
        found[name] = Package(name, [directory / "types.go"])
    return found


class Writer:
    def __init__(self) -> None:
        self._packages = packages()
        self.lines: dict[str, str] = {}

    def add(self, package: str, name: str) -> str:
        """The name under which a struct is written, and it is written."""
        key = f"{package}.{name}"
        if key in self.lines:
            return key
        self.lines[key] = ""
        fields = "".join(self._fields(self._packages[package], self._packages[package].structs[name]))
        self.lines[key] = key + fields
        return key

    def _fields(self, package: Package, body: str) -> Iterator[str]:
        for found in _FIELD.finditer(body):
            type_, json, _, number = found.groups()
            name, *marks = json.split(",")
            optional = "?" if {"omitempty", "omitzero"} & set(marks) and not type_.startswith("*") else ""
            if written := self._type(package, type_):
                yield f"|{number} {name if 'inline' not in marks else ''}{optional} {written}"

    def _type(self, package: Package, type_: str) -> str:
        """Empty for what is of a version that is not served."""
        type_ = type_.lstrip("*")
        if type_ in BASIC:
            return BASIC[type_]
        for start, sign, rest in (("[]", "[", type_[2:]), ("map[", "{", type_.partition("]")[2])):
            if type_.startswith(start):
                inner = self._type(package, rest)
                return sign + inner if inner else ""
        owner, _, name = type_.rpartition(".")
        home = package.imports.get(owner, owner) if owner else package.name
        if name in SPECIAL:
            return name
        if home not in self._packages:
            return {"UID": "s", "NodeName": "s"}.get(name, "")
        if alias := self._packages[home].aliases.get(name):
            return self._type(self._packages[home], alias)
        if name not in self._packages[home].structs:
            raise SystemExit(f"no type {home}.{name}")
        return self.add(home, name)


def main() -> None:
    writer = Writer()
    for package, names in ROOTS.items():
        for name in names.split():
            writer.add(package, name)
    TARGET.write_text("\n".join(line for _, line in sorted(writer.lines.items())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
