"""What many cuts say together: arms, kinds, the control of another project, intervals and calibration."""

import pytest
from msgspec.structs import replace

from support.build import assistant, measure, results, user, uses
from ullage.model.message import Message
from ullage.survive.actions import Need, Recorded
from ullage.survive.arms import MASK, masking, tail
from ullage.survive.bootstrap import ratio, share
from ullage.survive.fact import Fact, Kind
from ullage.survive.study import Arm, ArmRow, Carried, Trial, make_trial, same_project, study
from ullage.survive.survival import Known, known_before, survivors
from ullage.tokens.counter_choice import get_counter

COUNTER = get_counter("gpt-4o")


def trial(project: str, *, own: str, ours: str, name: str = "round_price", brief: str = "") -> Trial:
    fact = Fact(kind=Kind.NAME, text=name)
    recorded = Recorded(
        actions=((Need(fact=fact, source=1, tokens=70, looked_again=True),),), free=2, looks_again=1, look_tokens=90
    )
    texts = {Arm.AGENT: own, Arm.OURS: ours, Arm.ORACLE: name}
    texts |= {Arm.BRIEF: f"{own}\n{brief}"} if brief else {}
    carried = {arm: Carried(texts=(text,), size=len(text)) for arm, text in texts.items()}
    known = Known(facts=(fact,), sentences=())
    alone = Carried(texts=(brief,), size=len(brief)) if brief else None
    return replace(make_trial(f"{project}.jsonl", project, recorded, known, carried), brief=alone)


TRIALS = (
    trial("/home/me/shop", own="", ours="round_price"),
    trial("/home/me/bank", own="close_book", ours="close_book", name="close_book"),
)


def row(arm: Arm, *trials: Trial) -> ArmRow:
    return next(row for row in study(trials).arms if row.arm is arm)


def test_an_arm_is_judged_over_all_cuts_and_against_the_agents_own_summary() -> None:
    ours = row(Arm.OURS, *TRIALS)
    assert ours.unblocked is not None
    assert ours.against_agent is not None
    assert (ours.unblocked.value, ours.against_agent.value) == (100.0, 2.0)
    own = row(Arm.AGENT, *TRIALS)
    assert (own.lookups, own.lookup_tokens) == (0.5, 35)


def test_the_control_carries_the_page_of_another_project() -> None:
    control = row(Arm.SHUFFLED, *TRIALS)
    assert control.unblocked is not None
    assert control.unblocked.value == 0


def briefed() -> tuple[Trial, ...]:
    """Returns six cuts, alternately of two projects, each with a brief that has what is missing."""
    one = trial("/home/me/shop", own="", ours="", brief="round_price")
    other = trial("/home/me/bank", own="", ours="", name="close_book", brief="close_book")
    return (one, other) * 3


def test_a_brief_spares_the_look_ups_and_that_of_another_project_spares_none() -> None:
    brief, other = row(Arm.BRIEF, *briefed()), row(Arm.OTHER_BRIEF, *briefed())
    assert brief.lookups_against_agent is not None
    assert other.lookups_against_agent is not None
    assert (brief.lookups, brief.lookups_against_agent.value) == (0, 0)
    assert (brief.lookups_against_agent.low, brief.lookups_against_agent.high) == (0, 0)
    assert (other.lookups, other.lookups_against_agent.value) == (1, 1)
    assert (other.unblocked and other.unblocked.value, other.facts and other.facts.value) == (0, 0)


def test_the_brief_of_another_project_is_carried_next_to_the_agents_own() -> None:
    own = trial("/home/me/shop", own="round_price", ours="", brief="nothing_new")
    other = row(Arm.OTHER_BRIEF, own, trial("/home/me/bank", own="", ours="", name="close_book", brief="close_book"))
    assert other.unblocked is not None
    # The agent's own summary has what the first needs.
    assert other.unblocked.value == 50
    assert Arm.OTHER_BRIEF not in {row.arm for row in study(TRIALS).arms}


def test_there_is_no_control_without_another_project() -> None:
    worktree = trial("/home/me/code/.worktrees/shop", own="", ours="")
    assert Arm.SHUFFLED not in {row.arm for row in study([TRIALS[0], worktree]).arms}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/home/me/work/shop", "/Users/you/shop/.worktrees/2", True),
        ("/home/me/src/shop", "/home/me/src/bank", False),
        (r"C:\Users\me\shop", r"C:\Users\me\bank", False),
        ("one.jsonl", "one.jsonl", True),
    ],
)
def test_folders_are_of_one_project_if_they_share_a_name_of_their_own(one: str, other: str, *, same: bool) -> None:
    assert same_project(one, other) is same


def test_calibration_compares_what_the_agents_summary_lacked_with_what_it_looked_at_again() -> None:
    found = study(TRIALS).calibration
    assert found is not None
    assert (found.predicted, found.recorded, found.recorded_tokens) == (0.5, 1, 90)
    assert found.missing_looked is not None
    assert found.missing_looked.value == 100


def test_an_interval_holds_its_value_and_is_the_same_each_time() -> None:
    pairs = [(1, 3), (2, 2), (0, 4), (5, 6), (0, 0)]
    found = share(pairs)
    assert found is not None
    assert found == share(pairs)
    assert found.value == pytest.approx(100 * 8 / 15)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_few_cuts_have_no_interval() -> None:
    found = share([(1, 2)] * 4)
    assert found is not None
    assert (found.value, found.low, found.high) == (50, None, None)


def test_equal_cuts_leave_no_doubt_and_no_cut_has_no_share() -> None:
    found = share([(1, 2)] * 5)
    assert found is not None
    assert (found.low, found.high) == (50, 50)
    assert share([(0, 0)]) is None
    assert ratio([]) is None


HEAD: tuple[Message, ...] = (
    user("u", "Rename the table. Never touch the legacy billing exporter again."),
    uses("a", "t", name="Bash", command="make verify-books"),
    results("r", "t", text="fatal: ledger 4711 is out of balance\nexit code: 2"),
    assistant("b", "I decided to keep close_book in src/bank/book.py because importers call it."),
)


def test_constraints_decisions_paths_names_commands_numbers_and_errors_survive_or_not() -> None:
    known = known_before(HEAD, len(HEAD))
    whole = [message.text for message in HEAD] + ["make verify-books", "fatal: ledger 4711 is out of balance"]
    kept = {each.kind: (each.known, each.carried) for each in survivors(known, whole)}
    assert kept == {
        kind: (1, 1) for kind in (Kind.CONSTRAINT, Kind.DECISION, Kind.PATH, Kind.NAME, Kind.COMMAND, Kind.ERROR)
    }
    assert all(each.carried == 0 for each in survivors(known, []))


def test_a_constraint_survives_in_other_words_but_not_in_scattered_ones() -> None:
    known = known_before(HEAD[:1], 1)
    said = "- do not touch the legacy exporter of billing"
    scattered = "touch\n\nx y z word\n\nlegacy\n\nword word\n\nbilling"
    assert [each.carried for each in survivors(known, [said])] == [1]
    assert [each.carried for each in survivors(known, [scattered])] == [0]


def test_a_pasted_text_has_no_constraints_of_the_user() -> None:
    pasted = user("u", "Never touch the legacy billing exporter again. " + "It is a long prompt. " * 100)
    assert known_before([pasted], 1).sentences == ()


def test_the_tail_is_the_newest_messages_that_fit() -> None:
    room = COUNTER.count_messages(HEAD[-2:])
    assert tail(HEAD, room, COUNTER) == list(HEAD[-2:])
    assert tail(HEAD, room - 1, COUNTER) == list(HEAD[-1:])


def test_masking_clears_the_oldest_results_first_and_only_as_many_as_needed() -> None:
    long = (
        uses("a1", "t1"),
        results("r1", "t1", text="word " * 300),
        uses("a2", "t2"),
        results("r2", "t2", text="new"),
    )
    assert masking(long, COUNTER.count_messages(long), COUNTER) == list(long)
    masked = masking(long, 100, COUNTER)
    assert MASK.text in str(masked[1])
    assert masked[3] == long[3]
    assert measure(masked[1]) < measure(long[1])
