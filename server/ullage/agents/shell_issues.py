"""Reads from commands of issue trackers which issues they close or begin."""

import re
from collections.abc import Iterator, Sequence

# `bd`, `br` and `tk` are trackers that keep their issues in the repository and are made for agents.
_CLOSES = re.compile(r"(?:gh issue|glab issue|bd|br|tk|git-bug|issues) (?:close|done|resolve) (.+)")
_UPDATES = re.compile(r"(?:bd|br|tk) (?:update|edit) (\S+) .*?(?:--status|-s)[ =](\w+)")
_BEGINS = re.compile(r"(?:bd|br|tk|issues) (?:start|begin) (\S+)")
_ISSUE = re.compile(r"#?[A-Za-z]*[\w.-]*\d[\w.-]*|[a-z]+-[a-z0-9.]{2,12}")


def issue_changes(commands: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the issues whose status the commands change, with the new status in plain words."""
    for command in commands:
        if match := _CLOSES.match(command):
            for word in match[1].split():
                if not _ISSUE.fullmatch(word):
                    break
                yield word, "closed"
        elif match := _UPDATES.match(command):
            yield match[1], match[2].replace("_", " ")
        elif match := _BEGINS.match(command):
            yield match[1], "in progress"
