"""Changelog fragments are well-formed, and a release gathers them."""

from pathlib import Path

import pytest

from changelog import DOCS, faults, fragments, release


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_every_fragment_is_well_formed() -> None:
    assert {fragment.name: faults(fragment) for fragment in fragments(DOCS) if faults(fragment)} == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("search.md", "Search is faster.\n"),
        ("search.faster.md", "Search is faster.\n"),
        ("Search.changed.md", "Search is faster.\n"),
        ("search.changed.md", "Search is faster\n"),
        ("search.changed.md", "Search is faster."),
        ("search.changed.md", "Search is faster.\n\nMuch.\n"),
        ("search.changed.md", "# Search is faster.\n"),
        ("search.changed.md", f"Search is {'much ' * 30}faster.\n"),
    ],
)
def test_a_fragment_of_another_shape_is_refused(tmp_path: Path, name: str, text: str) -> None:
    assert faults(write(tmp_path, name, text))


def test_a_release_lists_the_fragments_by_kind_above_older_releases_and_deletes_them(tmp_path: Path) -> None:
    (tmp_path / "changelog.d").mkdir()
    write(tmp_path, "CHANGELOG.md", "# Changelog\n\n<!-- releases -->\n\n## 0.1.0 (2026-01-01)\n")
    write(tmp_path / "changelog.d", "README.md", "How to.\n")
    write(tmp_path / "changelog.d", "undo.fixed.md", "Undo keeps\nthe alarm.\n")
    write(tmp_path / "changelog.d", "search.added.md", "Search by name.\n")
    release(tmp_path, "0.2.0", "2026-02-01")
    assert (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8") == (
        "# Changelog\n\n<!-- releases -->\n\n## 0.2.0 (2026-02-01)\n\n### Added\n\n- Search by name.\n\n"
        "### Fixed\n\n- Undo keeps\n  the alarm.\n\n## 0.1.0 (2026-01-01)\n"
    )
    assert fragments(tmp_path) == []


def test_a_release_completes_the_section_that_was_begun_for_it(tmp_path: Path) -> None:
    (tmp_path / "changelog.d").mkdir()
    begun = "# Changelog\n\n<!-- releases -->\n\n## 0.1.0 (unreleased)\n\nThe first version.\n"
    write(tmp_path, "CHANGELOG.md", begun)
    write(tmp_path / "changelog.d", "search.added.md", "Search by name.\n")
    release(tmp_path, "0.1.0", "2026-02-01")
    assert (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8") == (
        "# Changelog\n\n<!-- releases -->\n\n## 0.1.0 (2026-02-01)\n\n### Added\n\n- Search by name.\n\n"
        "The first version.\n"
    )
