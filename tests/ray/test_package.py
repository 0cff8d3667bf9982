"""A working directory as Ray gets it: the files that a reader of .gitignore expects, under a name that follows the content."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from rayfleet.ray import package
from rayfleet.ray.package import Package, pack


def tree(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(made: Package) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(made.content)).namelist()


@pytest.mark.parametrize(
    ("lines", "gone"),
    [
        ("*.log", {"a.log", "deep/b.log"}),
        ("/a.log", {"a.log"}),
        ("deep/", {"deep/b.log", "deep/er/c.txt"}),
        ("deep/*.txt", set()),
        ("deep/**/*.txt", {"deep/er/c.txt"}),
        ("**/er", {"deep/er/c.txt"}),
        ("*.log\n!deep/b.log", {"a.log"}),
        ("# *.log\n\n[ac].*", {"a.log", "deep/er/c.txt"}),
        ("[!a].log", {"deep/b.log"}),
        ("?.log\n", {"a.log", "deep/b.log"}),
        ("deep/**", {"deep/b.log", "deep/er/c.txt"}),
        ("\\#odd", {"#odd"}),
        ("[", set()),
    ],
)
def test_what_gitignore_names_is_left_out(tmp_path: Path, lines: str, gone: set[str]) -> None:
    all_files = {"a.log", "deep/b.log", "deep/er/c.txt", "#odd"}
    tree(tmp_path, **dict.fromkeys(all_files, "x"))
    (tmp_path / ".gitignore").write_text(lines)
    assert {name for name in names(pack(tmp_path)) if not name.endswith("/")} == all_files - gone | {".gitignore"}


def test_a_directory_s_own_rayignore_holds_for_what_is_below_it(tmp_path: Path) -> None:
    tree(tmp_path, **{"data": "x", "deep/data": "x", "deep/er/data": "x", "deep/.rayignore": "/data"})
    assert names(pack(tmp_path)) == ["data", "deep/.rayignore", "deep/er/data"]


def test_what_no_job_needs_stays_at_home_and_more_by_excludes(tmp_path: Path) -> None:
    tree(tmp_path, **dict.fromkeys((".git/config", "venv/bin/x", "app/__pycache__/a.pyc", "app/a.py", "notes.md"), "x"))
    (tmp_path / "empty").mkdir()
    assert names(pack(tmp_path, ["*.md"])) == ["app/a.py", "empty/"]


def test_the_name_follows_names_contents_and_modes_and_nothing_else(tmp_path: Path) -> None:
    first = pack(tree(tmp_path / "one", a="x", b="y"))
    same = pack(tree(tmp_path / "two", b="y", a="x"))
    assert (same.uri, same.content, same.files) == (first.uri, first.content, 2)
    others = [pack(tree(tmp_path / f"other{i}", **files)).uri for i, files in enumerate([{"a": "x", "b": "z"}, {"a": "xb", "c": "y"}])]
    (tmp_path / "two/a").chmod(0o755)
    assert len({first.uri, *others, pack(tmp_path / "two").uri}) == 4
    assert first.uri.startswith("gcs://_ray_pkg_") and first.path == f"/api/packages/gcs/{first.uri[6:]}"


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    tree(tmp_path, **{"app/a.py": "x", "shared/lib.py": "y"})
    (tmp_path / "app/round").symlink_to(tmp_path)
    (tmp_path / "app/lib").symlink_to(tmp_path / "shared")
    assert names(pack(tmp_path / "app")) == ["a.py", "lib/lib.py", "round/shared/lib.py"]


def test_a_directory_that_ray_would_not_take_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MOST", 1)
    with pytest.raises(ValueError, match=r"\.rayignore"):
        pack(tree(tmp_path, a="x"))
