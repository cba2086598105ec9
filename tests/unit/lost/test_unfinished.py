"""What a compaction finds unfinished: work that can only be asked by its id, and the open entries of the plan."""

from collections.abc import Sequence

from msgspec.structs import replace

from support.build import assistant, results, user, uses
from ullage.lost.brief import write_brief
from ullage.lost.finding import find_lost
from ullage.lost.loss import Loss, Under
from ullage.model.blocks import ToolUseBlock
from ullage.model.message import Message

LAUNCHED = "Async agent launched successfully.\nagentId: a1b2c3 (internal ID)"
AGENT = (
    uses("a1", "t1", name="Task", description="Security review of the shop", prompt="Read all files."),
    results("r1", "t1", text=LAUNCHED),
)
NOTE = "<task-notification><task-id>a1b2c3</task-id><status>{}</status></task-notification>"


def listed(*todos: tuple[str, str]) -> Message:
    given = {"todos": [{"content": text, "status": status} for text, status in todos]}
    call = uses("p1", "plan", name="TodoWrite")
    return replace(call, content=(ToolUseBlock(id="plan", name="TodoWrite", input=given),))


def found(under: Under, before: Sequence[Message], summary: str = "The work goes on.") -> list[Loss]:
    return [loss for loss in find_lost(before, [assistant("s", summary)]) if loss.under is under]


def test_a_sub_agent_whose_id_is_missing_is_told_with_its_task_and_its_end() -> None:
    (runs,) = found(Under.BEGUN, AGENT)
    assert (runs.text, runs.detail) == ("`a1b2c3` sub-agent: Security review of the shop", "its end is not shown")
    (ended,) = found(Under.BEGUN, (*AGENT, user("u1", NOTE.format("completed"))))
    assert ended.detail == "completed in #3"
    assert ended.weight < runs.weight
    brief = write_brief([ended], 10_000).text
    assert brief.splitlines()[-2:] == [
        "Sub-agents and background commands, by the ids with which they are asked:",
        "> #1 `a1b2c3` sub-agent: Security review of the shop (completed in #3)",
    ]


def test_work_that_was_killed_or_whose_id_the_summary_has_is_not_told() -> None:
    assert not found(Under.BEGUN, AGENT, "The security review is a1b2c3.")
    assert not found(Under.BEGUN, (*AGENT, user("u1", NOTE.format("killed"))))


def test_a_background_command_is_told_while_it_runs() -> None:
    begun = uses("a1", "t1", name="Bash", command="npm run serve", run_in_background="yes")
    call = ToolUseBlock(id="t1", name="Bash", input={"command": "npm run serve", "run_in_background": True})
    begun = replace(begun, content=(call,))
    before = (begun, results("r1", "t1", text="Command running in background with ID: bash_7"))
    (loss,) = found(Under.BEGUN, before)
    assert loss.text == "`bash_7` command: npm run serve"
    assert not found(Under.BEGUN, (*before, user("u1", NOTE.format("completed").replace("a1b2c3", "bash_7"))))


def test_the_open_entries_of_the_last_plan_are_told_unless_the_summary_says_them() -> None:
    plan = listed(
        ("Count the baskets of yesterday again", "completed"),
        ("Write a migration for the discount table", "in_progress"),
        ("Tell the bank about rounding mistakes", "pending"),
    )
    told = found(Under.PLAN, [plan])
    assert [(loss.text, loss.detail) for loss in sorted(told, key=lambda loss: -loss.weight)] == [
        ("Write a migration for the discount table", "in progress"),
        ("Tell the bank about rounding mistakes", "open"),
    ]
    (left,) = found(Under.PLAN, [plan], "Next: tell the bank about the rounding mistakes.")
    assert left.detail == "in progress"
