"""What the state bench calls right, wrong and absent; nonsense scores nothing."""

import pytest

from benches.state import judge, score, shuffled
from benches.state_page import read_page
from benches.state_truth import Commit, File, Problem, Run, Task, Truth, Words
from benches.state_verdicts import ABSENT, RIGHT, WRONG, Kind


def judged(page: str, truth: Truth, kind: Kind) -> list[str]:
    return [verdict.end for verdict in judge(read_page(page), truth) if verdict.kind is kind]


# Judging

SAID = Truth(
    words=(Words(text="never push to main"), Words(text="Prices of services are shown per hour, not per day, please."))
)


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        (
            'All user messages:\n- "never push to main"\n- Prices of services are shown per hour, not per day, please.',
            [RIGHT, RIGHT],
        ),
        ("## Decisions and findings\n- Prices of services are shown per hour, not per day, please.", [ABSENT, ABSENT]),
        ("All user messages:\n- never push\n- prices are shown per hour", [ABSENT, ABSENT]),
        ("never push to main", [ABSENT, ABSENT]),
        ("User: never push to main", [RIGHT, ABSENT]),
    ],
)
def test_what_the_user_said_is_right_only_whole_and_as_the_users(page: str, ends: list[str]) -> None:
    assert judged(page, SAID, Kind.REQUEST) == ends


def test_words_of_any_script_are_found() -> None:
    truth = Truth(
        words=(
            Words(text="永远不要修改 migrations 目录下的文件"),
            Words(text="Verwende niemals Tabulatoren im Quelltext"),
        )
    )
    page = "User messages:\n- 永远不要修改 migrations 目录下的文件\n- Verwende niemals Tabulatoren im Quelltext"
    assert judged(page, truth, Kind.REQUEST) == [RIGHT, RIGHT]
    assert judged(page.replace("不要", "要"), truth, Kind.REQUEST)[0] == ABSENT


def test_a_yes_in_the_text_is_not_the_users_yes() -> None:
    truth = Truth(words=(Words(text="yes"),))
    assert judged("User requests:\n- asked if yes was meant", truth, Kind.REQUEST) == [ABSENT]
    assert judged('User requests:\n- "yes"', truth, Kind.REQUEST) == [RIGHT]


TASKS = Truth(tasks=(Task(subject="Wire the form", state="open"), Task(subject="Add the field", state="done")))


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        ("## Plan\n- [ ] Wire the form\n- [x] Add the field", [RIGHT]),
        ("Pending Tasks:\n- Wire the form", [RIGHT]),
        ("## Plan\n- open: Wire the form\n- open: Add the field", [RIGHT, WRONG]),
        ("## Plan\n- done: Wire the form", [WRONG]),
        ("## Plan\n- [ ] Wire the form\n- [x] Wire the form", [WRONG]),
        ("## Plan\n- Wire the", [ABSENT]),
        ("Wire the form", [ABSENT]),
        ("## Where to look\n- [ ] Wire the form", [ABSENT]),
    ],
)
def test_a_task_is_right_only_with_its_state(page: str, ends: list[str]) -> None:
    assert judged(page, TASKS, Kind.TASK) == ends


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        ("## Plan\n- in progress: Wire the form", [RIGHT]),
        ("## Plan\n- done: Wire the form", [ABSENT]),
        ("## Plan\n- in progress: Wire the form\n- [x] Wire the form", [RIGHT]),
    ],
)
def test_a_task_in_progress_may_be_done_before_its_list_says_so(page: str, ends: list[str]) -> None:
    assert judged(page, Truth(tasks=(Task(subject="Wire the form", state="in progress"),)), Kind.TASK) == ends


def changed(path: str, change: str, *edited: str) -> File:
    return File(path=path, change=change, edited=frozenset(edited), seen=frozenset(edited))


FILES = Truth(
    files=(changed("cards/balance.py", "changed", "gift_card", "year_tree"), changed("cards/report.py", "not changed"))
)


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        ("Files:\n- `cards/balance.py` - Added the gift card", [RIGHT]),
        ("## State of work\n- Last modified: /home/ada/cards/cards/balance.py", [RIGHT]),
        ("Files Modified:\n- balance.py", [RIGHT]),
        ("Files:\n- cards/balance.py", [ABSENT]),
        ("cards/balance.py", [ABSENT]),
        ("Files:\n- deleted: balance.py", [WRONG]),
        ("Files:\n- modified: cards/report.py", [ABSENT, WRONG]),
    ],
)
def test_a_file_is_right_only_with_its_change(page: str, ends: list[str]) -> None:
    assert judged(page, FILES, Kind.FILE) == ends


def test_what_was_done_to_a_file_is_wrong_under_another_file() -> None:
    truth = Truth(files=(changed("balance.py", "changed", "gift_card"), changed("report.py", "changed", "year_tree")))
    right = "Files:\n- `balance.py`\n  - Added `gift_card`\n- `report.py`\n  - Added `year_tree`"
    assert judged(right, truth, Kind.PARENT) == [RIGHT, RIGHT]
    swapped = "Files:\n- `balance.py`\n  - Added `year_tree`\n- `report.py`\n  - Added `gift_card`"
    assert judged(swapped, truth, Kind.PARENT) == [WRONG, WRONG]
    assert judged("Files modified:\n- balance.py\n- report.py", truth, Kind.PARENT) == [ABSENT, ABSENT]


CHECKS = Truth(
    runs=(
        Run(purpose="build", command="go build ./...", passed=False, line=1, mended=True),
        Run(purpose="tests", command="go test ./...", passed=True, line=2),
    )
)


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        ("## State\n- `go test ./...` passed: ok", [ABSENT, RIGHT]),
        ("Current Work:\n- All tests pass", [ABSENT, RIGHT]),
        ("## State\n- `go test ./...` failed", [ABSENT, WRONG]),
        ("Errors:\n- `go build ./...` failed: undefined: worker", [WRONG, ABSENT]),
        ("Errors:\n- `go build ./...` failed: undefined: worker; fixed by an import", [RIGHT, ABSENT]),
        ("go test ./...\npassed", [ABSENT, ABSENT]),
    ],
)
def test_a_check_is_right_only_with_its_newest_end(page: str, ends: list[str]) -> None:
    assert judged(page, CHECKS, Kind.CHECK) == ends


PROBLEMS = Truth(
    problems=(
        Problem(
            command="go test ./...",
            signs=frozenset({"TestBalance_Empty"}),
            mend=frozenset({"new_total", "balance.go"}),
        ),
        Problem(command="go vet ./...", signs=frozenset({"count_cards"}), mend=frozenset({"TEST_THREE", "report.go"})),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        ("Errors and fixes:\n- `TestBalance_Empty` failed: fixed with `new_total` in balance.go", [RIGHT, ABSENT]),
        ("Errors and fixes:\n- **count_cards redeclared**:\n  - Fixed by `TEST_THREE`", [ABSENT, RIGHT]),
        ("Errors and fixes:\n- **count_cards redeclared**:\n  - Fixed by `new_total`", [ABSENT, WRONG]),
        ("Errors and fixes:\n- count_cards failed", [ABSENT, ABSENT]),
        ("Errors and fixes:\n- `go vet ./... && ls` failed; passed after changes to report.go", [ABSENT, RIGHT]),
    ],
)
def test_a_problem_is_right_only_with_its_own_mend(page: str, ends: list[str]) -> None:
    assert judged(page, PROBLEMS, Kind.PROBLEM) == ends


COMMITS = Truth(
    commits=(
        Commit(sha="9d0e77b", subject="initial"),
        Commit(sha="4f1c2aa", subject="add gift cards"),
    )
)


@pytest.mark.parametrize(
    ("page", "ends"),
    [
        ("## State of work\n- Last commit on main: 4f1c2aa add gift cards", [RIGHT]),
        ("## State of work\n- Last commit on main: 9d0e77b initial", [WRONG]),
        ("## State of work\n- something was committed", [ABSENT]),
        ("4f1c2aa", [ABSENT]),
    ],
)
def test_the_last_commit_is_the_projects(page: str, ends: list[str]) -> None:
    assert judged(page, COMMITS, Kind.COMMIT) == ends


# The whole

ALL = Truth(
    words=(*SAID.words, *(Words(text=f"and put the voucher on page {number} of the list") for number in range(6))),
    tasks=TASKS.tasks,
    files=FILES.files,
    runs=CHECKS.runs,
    problems=PROBLEMS.problems,
    commits=COMMITS.commits,
)
GOOD = "\n".join(
    [
        "## User requests",
        *(f"- #{number} {message.text}" for number, message in enumerate(ALL.words)),
        "## Plan",
        "- [ ] Wire the form",
        "- [x] Add the field",
        "## Errors and fixes",
        "- `TestBalance_Empty` failed:",
        "  - Fixed with `new_total` in balance.go",
        "- **count_cards redeclared**:",
        "  - Fixed by `TEST_THREE` in report.go",
        "- `go build ./...` failed: undefined: worker; passed later",
        "## State of work",
        "- `go test ./...` passed: ok",
        "- Last commit on main: 4f1c2aa add gift cards",
        "## Files",
        "- `cards/balance.py` - Added `gift_card`",
        "## Decisions and findings",
        "- The list is a table of the shop's own making",
        "- Vouchers are gift cards without a name",
    ]
)


def test_a_good_page_scores() -> None:
    value = score(judge(read_page(GOOD), ALL))
    assert value is not None
    assert value >= 90


def test_nonsense_scores_nothing() -> None:
    scores = [score(judge(read_page(shuffled(GOOD, seed)), ALL)) or 0.0 for seed in range(20)]
    assert sum(scores) / len(scores) <= 2
    names = (
        "cards/balance.py",
        "gift_card",
        "Wire the form",
        "go test ./...",
        "4f1c2aa",
        "TestBalance_Empty",
        "new_total",
    )
    assert [score(judge(read_page(page), ALL)) for page in ("\n".join(names), "")] == [0, 0]


def test_a_heading_inside_quoted_words_heads_nothing() -> None:
    page = read_page("What the user said:\n> #1 Do this:\n> # The plan for the code\n> #3 now push it to main please")
    last = page.lines[-1]
    assert [page.lines[number].text for number in last.above] == ["What the user said:"]
