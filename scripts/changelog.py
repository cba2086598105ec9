"""Moves the fragments of docs/changelog.d into docs/CHANGELOG.md as a release: python scripts/changelog.py VERSION"""

import re
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
# In the order in which a release lists them, as on keepachangelog.com.
KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")
NAME = re.compile(rf"[a-z0-9]+(?:-[a-z0-9]+)*\.(?P<kind>{'|'.join(KINDS)})\.md")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-.]?(?:a|b|rc|dev)\.?\d+)?")
# The line after which a new release is inserted.
PLACE = "<!-- releases -->\n"


def fragments(docs: Path) -> list[Path]:
    """Returns the fragments in the folder. Every file except its README counts as a fragment."""
    return sorted(path for path in (docs / "changelog.d").iterdir() if path.name != "README.md")


def faults(fragment: Path) -> list[str]:
    """Returns what is wrong with a fragment, one sentence per fault."""
    text = fragment.read_text(encoding="utf-8")
    found = (
        [] if NAME.fullmatch(fragment.name) else [f"its name is not TOPIC.KIND.md with a KIND of {', '.join(KINDS)}"]
    )
    if not text.strip().endswith("."):
        found.append("it does not end with a period")
    if not text.endswith("\n") or "\n\n" in text or text != text.lstrip():
        found.append("it is not one paragraph with a newline at its end")
    if text.startswith(("#", "-", "*")):
        found.append("it begins with a heading or a list")
    if any(len(line) > 120 for line in text.splitlines()):
        found.append("a line is longer than 120 characters")
    return found


def release(docs: Path, version: str, day: str) -> None:
    """Writes the release and deletes its fragments. If the changelog has a section for the version, which is not
    released, the section gets the day, and the fragments come first in it. Raises `ValueError` if a fragment is not
    well-formed."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    found = fragments(docs)
    for fragment in found:
        if wrong := faults(fragment):
            raise ValueError(f"{fragment.name}: {'; '.join(wrong)}")
        by_kind[fragment.name.split(".")[1]].append(fragment.read_text(encoding="utf-8").strip().replace("\n", "\n  "))
    sections = [f"### {kind.capitalize()}\n\n" + "".join(f"- {text}\n" for text in by_kind[kind]) for kind in KINDS]
    kept = [section for kind, section in zip(KINDS, sections, strict=True) if by_kind[kind]]
    changelog = docs / "CHANGELOG.md"
    before, place, after = changelog.read_text(encoding="utf-8").partition(PLACE)
    if not place:
        raise ValueError(f"{changelog.name} has no line {PLACE.strip()}")
    written = "\n".join([f"{before}{place}", f"## {version} ({day})", "", *kept])
    begun = f"\n## {version} (unreleased)\n"
    changelog.write_text(written + after.removeprefix(begun), encoding="utf-8")
    for fragment in found:
        fragment.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2 or not VERSION.fullmatch(sys.argv[1]):
        raise SystemExit(__doc__)
    release(DOCS, sys.argv[1], datetime.now(UTC).strftime("%Y-%m-%d"))
