"""A few of the random histories that `./scripts/laws` runs by the hundred thousand, with every way of making room."""

import random

from lawcheck.cases import Case
from lawcheck.laws import Verdict, judge
from lawcheck.runs import run
from lawcheck.situation import Situation, random_situation
from support.build import user
from support.random_histories import random_history
from ullage.model.events import DropEdit
from ullage.model.message import ImageBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock


def test_no_way_of_shrinking_breaks_a_law_on_random_histories() -> None:
    tally = run(seed=7, start=0, histories=40)
    assert tally.broken == []


def test_a_seed_and_a_number_give_the_same_situation_again() -> None:
    first, again = random_situation(7, 3), random_situation(7, 3)
    assert (first.events, first.limit) == (again.events, again.limit)
    assert random_situation(7, 4).events != first.events


def test_the_histories_are_rich() -> None:
    blocks = [b for n in range(200) for m in random_history(random.Random(n)) for b in m.content]
    calls = [m for n in range(200) for m in random_history(random.Random(n))]
    assert any(isinstance(block, ImageBlock) for block in blocks)
    assert any(isinstance(block, ThinkingBlock) and block.redacted for block in blocks)
    assert any(sum(isinstance(block, ToolUseBlock) for block in message.content) > 1 for message in calls)
    assert any(not message.content for message in calls)
    assert any(random_situation(7, n).transcript.compactions for n in range(40))


def test_the_judge_sees_an_edit_that_parts_a_pair_miscounts_and_stays_over_its_limit() -> None:
    situation = next(s for n in range(40) if has_pair(s := random_situation(7, n)) and not s.pinned)
    used = next(m for m in situation.view.messages if any(isinstance(b, ToolUseBlock) for b in m.content))
    bad = DropEdit(id="bad", timestamp=1, message_ids=(used.id,), notice=user("bad-notice"), tokens_saved=1)
    case = Case(name="bad", plan=lambda _: [bad], promises=True)
    assert judge(situation, case) >= {Verdict.PARTED, Verdict.MISCOUNTED, Verdict.OVER}


def has_pair(situation: Situation) -> bool:
    answered = {b.tool_use_id for m in situation.view.messages for b in m.content if isinstance(b, ToolResultBlock)}
    return any(isinstance(b, ToolUseBlock) and b.id in answered for m in situation.view.messages for b in m.content)
