"""What a summary says against the record, and what only looks so."""

import pytest

from ullage.ledger.contradiction import otherwise, without_contradictions
from ullage.ledger.ledger_entry import Entry, Kind, Life


def entry(kind: Kind, life: Life, text: str, name: str = "", changed: tuple[str, ...] = ()) -> Entry:
    return Entry(kind=kind, life=life, index=3, text=text, name=name, changed=changed)


OPEN_TASK = entry(Kind.TASK, Life.OPEN, "Add the CSV export to the shop", "4")
STARTED = entry(Kind.TASK, Life.IN_PROGRESS, "Add the CSV export to the shop", "4")
DONE_TASK = entry(Kind.TASK, Life.DONE, "Write the migration for orders", "5")
TRACKED = entry(Kind.TASK, Life.DONE, "shop-gqc.5", "shop-gqc.5")
PASSED = entry(Kind.CHECK, Life.PASSED, "go test ./...", "tests")
OLD_PASSED = entry(Kind.CHECK, Life.PASSED, "go test ./...", "tests", ("a.go",))
FAILS = entry(Kind.PROBLEM, Life.OPEN, "`npm test` failed: ✗ adds tax", "tests")
BROKEN = entry(Kind.PROBLEM, Life.OPEN, "`cargo build --release` failed: error[E0308]", "build")
MENDED = entry(Kind.PROBLEM, Life.MENDED, "`npm test` failed: ✗ adds tax", "tests")
COMMIT = entry(Kind.COMMIT, Life.LAST, "Add the export", "3f2a91c", ("shop/tax.py",))
CLEAN = entry(Kind.COMMIT, Life.LAST, "Add the export", "3f2a91c")
DELETED = entry(Kind.FILE, Life.DELETED, "/p/shop/old_tax.py")
CREATED = entry(Kind.FILE, Life.CREATED, "/p/shop/tax.py")


@pytest.mark.parametrize(
    ("known", "line"),
    [
        (OPEN_TASK, "- Add the CSV export to the shop: done"),
        (OPEN_TASK, "4. [x] Add the CSV export to the shop"),
        (OPEN_TASK, "- ✅ Add the CSV export to the shop"),
        (OPEN_TASK, "| 4 | Add the CSV export to the shop | completed |"),
        (OPEN_TASK, "The task “Add the CSV export to the shop” is finished."),
        (OPEN_TASK, "- Add the CSV export to the shop — erledigt"),
        (OPEN_TASK, "- 已完成: Add the CSV export to the shop"),
        (DONE_TASK, "- [ ] Write the migration for orders"),
        (DONE_TASK, "- Write the migration for orders (pending)"),
        (DONE_TASK, "1. in_progress: Write the migration for orders"),
        (PASSED, "- `go test ./...` fails"),
        (PASSED, "- go test ./... is still failing in orders"),
        (FAILS, "- `npm test` passes."),
        (FAILS, "- All 48 tests pass."),
        (FAILS, "The full test suite is green ✅"),
        (BROKEN, "- The build is clean"),
        (COMMIT, "- Last commit: `9d8c7b6` Add the export"),
        (COMMIT, "HEAD is at 9d8c7b6a1"),
        (COMMIT, "- All changes are committed."),
        (DELETED, "- Created: shop/old_tax.py"),
        (DELETED, "- New file `/p/shop/old_tax.py`"),
        (CREATED, "- Deleted `shop/tax.py`."),
    ],
)
def test_a_line_that_states_another_state_contradicts(known: Entry, line: str) -> None:
    assert [*otherwise([known], f"## State of work\n{line}\n")] == [(known, line)]
    assert without_contradictions(f"## State of work\n{line}\n- Go on.\n", [known]) == "## State of work\n- Go on.\n"


@pytest.mark.parametrize(
    ("known", "line"),
    [
        (OPEN_TASK, "- Add the CSV export to the shop (pending)"),
        (OPEN_TASK, "- Add the CSV export to the shop once the migration is done"),
        (OPEN_TASK, "- Add the CSV export to the shop is not done"),
        (OPEN_TASK, "- Done: the migration. Open: Add the CSV export to the shop"),
        (OPEN_TASK, "- The export is done"),
        (STARTED, "- ✅ Add the CSV export to the shop"),
        (DONE_TASK, "- Write the migration for orders: done"),
        (DONE_TASK, "The open question was whether to write the migration for orders by hand"),
        (TRACKED, "- shop-gqc.7 (open, blocked by shop-gqc.5)"),
        (PASSED, "- `go test ./...` failed at first: a nil map"),
        (PASSED, "- `go test ./... -race` fails"),
        (PASSED, "- `go test ./...` fails without CGO, passes with it"),
        (OLD_PASSED, "- `go test ./...` fails"),
        (FAILS, "- `npm test` fails"),
        (FAILS, "- All tests in cart/ passed before the change"),
        (FAILS, "- All tests should pass before the merge"),
        (FAILS, "- When all tests pass, commit."),
        (MENDED, "- `npm test` passes"),
        (BROKEN, "- All tests pass"),
        (COMMIT, "- Last commit 3f2a91c7d Add the export"),
        (COMMIT, "- Reverted commit 9d8c7b6"),
        (CLEAN, "- All changes are committed."),
        (DELETED, "- Deleted shop/old_tax.py, which was created by mistake"),
        (CREATED, "- Removed the rounding from shop/tax.py"),
        (CREATED, "- Created shop/tax.py"),
        (FAILS, ""),
    ],
)
def test_a_line_of_the_past_a_plan_or_the_same_state_contradicts_nothing(known: Entry, line: str) -> None:
    assert [*otherwise([known], line)] == []
    assert without_contradictions(line, [known]) == line
