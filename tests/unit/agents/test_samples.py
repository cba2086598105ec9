"""What agents' files become, by their samples (`support/samples.py`).

`--update-golden` writes what is read now. Read the difference: it is a changed figure, or a changed context.
"""

from pathlib import Path

import pytest

from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from support.samples import RUN, SAMPLES, SENTENCE, samples
from support.tables import every
from ullage.agents.transcripts import detect_format

FILES = sorted(SAMPLES.glob("*.txt"))
NAMED = {f"{path.stem}: {sample.sentence}": sample for path in FILES for sample in samples(path)}
every_sample = every("name", NAMED)


@every_sample
def test_a_file_becomes_what_its_sample_says(name: str, request: pytest.FixtureRequest) -> None:
    sample = NAMED[name]
    if not request.config.getoption("--update-golden"):
        assert sample.read == sample.expected


@pytest.mark.no_cover
@every_sample
def test_a_file_reads_alike_in_every_two_pieces(name: str) -> None:
    sample = NAMED[name]
    document = sample.document
    known = detect_format(document)
    if known.reader is None:
        return
    expect_every_split_to_read_alike(known, document)
    is_log = document.name.endswith((".jsonl", ".md")) and not sample.written[0].startswith("rows")
    # Records of a log of several conversations are those of the longest, and VS Code's are the outcome of its log.
    if is_log and not any(line.startswith(RUN) for line in sample.expected) and known.name != "vscode-chat":
        expect_a_growing_log_to_only_add_records(known, document)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_samples_are_written_as_they_are_read(path: Path, request: pytest.FixtureRequest) -> None:
    is_new = request.config.getoption("--update-golden")
    sections = [
        "\n".join(
            [
                f"{SENTENCE}{one.sentence}",
                *([f"after {one.first} lines of {one.after.sentence}"] if one.after else ()),
                *one.added,
                *(one.read if is_new else one.expected),
            ]
        )
        for one in samples(path)
    ]
    written = "\n\n".join(sections) + "\n"
    if is_new:
        path.write_text(written, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == written
