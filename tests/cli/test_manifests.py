"""Files into objects: every document is kept, and each mistake has its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayfleet.cli.manifests import BadManifest, load_manifests, parse

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def names(text: str) -> list[str]:
    return [manifest.name for manifest in parse(text.encode(), "f.yaml")]


def test_every_document_of_any_kind_is_kept_in_order() -> None:
    assert names(f"---\n{MAP % 'a'}---\n# nothing\n---\n{MAP % 'b'}---\napiVersion: x.io/v9\nkind: New\nmetadata: {{name: c}}\n") == [
        "a",
        "b",
        "c",
    ]


def test_a_list_is_its_items() -> None:
    item = "{apiVersion: v1, kind: Secret, metadata: {name: %s}}"
    assert names(f"apiVersion: v1\nkind: List\nitems:\n- {item % 'a'}\n- {item % 'b'}\n") == ["a", "b"]


def test_json_is_read_too() -> None:
    assert names('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}') == ["a"]


def test_an_object_knows_its_file_and_line() -> None:
    second = parse(f"{MAP % 'a'}---\n{MAP % 'b'}".encode(), "f.yaml")[1]
    assert second.place == "f.yaml:5"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: b: c\n", "f.yaml:1: mapping values are not allowed"),
        ("a:\n\t- b\n", "f.yaml:2: found character that cannot start any token; is it a tab?"),
        (f"{MAP % 'a'}data:\n  k: 1\n  k: 2\n", "f.yaml:6: the key 'k' is given twice (first in line 5)"),
        ("just words\n", "f.yaml:1: no Kubernetes object but a text"),
        ("- a\n", "f.yaml:1: no Kubernetes object but a list"),
        ("kind: Pod\nmetadata: {name: a}\n", "f.yaml:1: apiVersion is missing; write for example `apiVersion: ray.io/v1`"),
        ("apiVersion: v1\nmetadata: {name: a}\n", "f.yaml:1: kind is missing"),
        ("apiVersion: v1\nkind: Pod\n", "f.yaml:1: Pod has no metadata.name"),
        ("a: !!python/object/apply:os.system [true]\n", "f.yaml:1: could not determine a constructor"),
    ],
    ids=["colon", "tab", "twice", "text", "list", "no apiVersion", "no kind", "no name", "python"],
)
def test_a_mistake_is_told_with_file_and_line(text: str, told: str) -> None:
    with pytest.raises(BadManifest) as caught:
        parse(text.encode(), "f.yaml")
    assert told in caught.value.message


def test_a_key_that_is_merged_in_may_be_overridden() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a}\nx:\n  <<: *m\n  name: b\n"
    assert parse(text.encode(), "f")[0].body["x"] == {"name": "b"}


def test_what_a_server_wrote_is_not_sent_back() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: u, resourceVersion: '5', generation: 2, labels: {x: y},"
    text += " managedFields: [], creationTimestamp: 2024-01-01T00:00:00Z}\nspec: {}\nstatus: {phase: Running}\n"
    assert parse(text.encode(), "f")[0].sendable() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {},
    }


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("22:22", "22:22"),
        ("2024-01-01", "2024-01-01"),
        ("1e3", 1000.0),
        ("0x1F", 31),
        ("1_0", 10),
        ("1.50", 1.5),
        ("0", 0),
        ("-3", -3),
        ("v1.0", "v1.0"),
    ],
)
def test_plain_words_are_read_as_kubernetes_reads_them(written: str, read: object) -> None:
    body = parse(f"{MAP % 'a'}x: {written}\n".encode(), "f")[0].body
    assert (body["x"], type(body["x"])) == (read, type(read))


def test_a_directory_stands_for_its_files_and_an_empty_one_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(BadManifest, match="without any"):
        load_manifests([str(tmp_path)])
    (tmp_path / "b.yaml").write_text(MAP % "b")
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}')
    (tmp_path / "notes.txt").write_text("none")
    assert [manifest.name for manifest in load_manifests([str(tmp_path)])] == ["a", "b"]


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BadManifest, match=r"no/such\.yaml: No such file"):
        load_manifests(["no/such.yaml"])


def test_bytes_that_are_no_text_are_a_mistake() -> None:
    with pytest.raises(BadManifest, match="f"):
        parse(b"\xff\xfe\x00\x01", "f")


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_the_examples_can_be_read(path: Path) -> None:
    assert load_manifests([str(path)])
