"""Docstrings and comments avoid the words that docs/STYLE.md and docs/glossary.md replace."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "server" / "ullage"
# Phrases that hardly ever have a right use, each with what to write instead. Code in backticks is not read.
REPLACED = {
    r"\b(the|a) person\b|\bperson's\b|\bpeople\b": "user",
    r"\bwhoever\b": "the noun: the user, the client, the caller",
    r"\b(nobody|somebody|anybody)\b": "the noun: no user, no client, no program",
    # "If there is none" is English; "an edit that clears too little is none" is a riddle.
    r"(?<!there )\b(is|are) none\b(?! of\b)": "returns None, is not made, does not exist",
    # An agent is behind the proxy; nothing is behind in time.
    r"\bbehind\b(?! the (real )?proxy\b)": "after",
    r"\bbeside\b": "next to, in addition to",
    r"\b(tells?|told)\b": "publish, send, show, distinguish",
    r"\bannounc(es?|ed|ing)\b": "publish, send",
    r"\b(hears?|heard)\b": "get",
    r"\bstands?\b(?!-| for\b)|\bstood\b": "is",
    r"\bwhat (goes|stays)\b": "the messages that are archived, dropped, cleared, or kept",
    r"\bwhat was said\b|\bever said\b": "the messages, the transcript",
    r"\b(go|goes|going|went) on\b": "continue",
    r"\banew\b": "again",
    r"\blook(s|ed|ing)? after\b": "manage",
    r"\b(take|takes|taken|taking) back\b": "undo, cancel",
    r"\bhand-over\b": "handover",
    r"\bsummaris": "summarize",
}
FILES = sorted(
    path
    for folder in (SERVER, ROOT / "scripts", ROOT / "tests")
    for path in folder.rglob("*.py")
    if not path.is_relative_to(ROOT / "tests" / "data") and path != Path(__file__)
)


def prose_of(source: str) -> Iterator[tuple[int, str]]:
    """Yields every docstring and comment with the number of its first line."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, owners) and (text := ast.get_docstring(node, clean=False)) is not None:
            yield node.body[0].lineno, text
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def faults(source: str) -> list[str]:
    """Returns each replaced phrase with its line, and what to write instead."""
    found: list[str] = []
    for line, text in prose_of(source):
        words = re.sub(r"\n *", "\n", re.sub(r"`[^`\n]*`", "`", text))
        for pattern, instead in REPLACED.items():
            # A phrase may be broken between two lines. "None" is a value, "none" is the riddle.
            broken = re.compile(pattern.replace(" ", r"[ \n]"), 0 if "none" in pattern else re.IGNORECASE)
            for match in broken.finditer(words):
                at = line + words.count("\n", 0, match.start())
                found.append(f"{at}: {' '.join(match[0].split())!r}: write {instead!r}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_and_comments_use_the_words_of_the_glossary(path: Path) -> None:
    found = [f"{path.relative_to(ROOT)}:{fault}" for fault in faults(path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_a_replaced_phrase_is_found_in_a_docstring_and_in_a_comment() -> None:
    source = '"""Asks `told`\n\n    of the\n    person."""\nx = 1  # Whoever reads `nobody` gets None.\ny = "told"\n'
    assert faults(source) == [
        "3: 'the person': write 'user'",
        "5: 'Whoever': write 'the noun: the user, the client, the caller'",
    ]
