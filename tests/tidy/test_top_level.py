"""The top level has few entries, so that a reader sees the important ones at once."""

import subprocess

from support.documents import ROOT

# The registry of MCP servers takes `server.json` from here.
VISIBLE = {"pyproject.toml", "uv.lock", "README.md", "LICENSE", "server.json"} | {
    *("server", "tests", "editors", "protocol", "scripts", "docs"),
}


def test_the_top_level_holds_nothing_but_what_was_agreed_on_and_dot_files() -> None:
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    # Without git (an unpacked archive) every entry counts except those that tools have made.
    names = {line.split("/")[0] for line in listed.stdout.splitlines()} or {path.name for path in ROOT.iterdir()}
    assert {name for name in names if not name.startswith(".")} - VISIBLE == set()
