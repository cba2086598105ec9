"""Issues that commands of trackers close or begin."""

import pytest

from ullage.agents.shell_issues import issue_changes


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("bd close app-12.1 app-12.2 --reason done", [("app-12.1", "closed"), ("app-12.2", "closed")]),
        ("bd update app-12 --status in_progress", [("app-12", "in progress")]),
        ("gh issue close 17", [("17", "closed")]),
        ("bd show app-12", []),
        ("git push", []),
    ],
)
def test_the_new_status_of_each_issue_is_read(command: str, changes: list[tuple[str, str]]) -> None:
    assert list(issue_changes([command])) == changes
