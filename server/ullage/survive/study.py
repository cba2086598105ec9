"""What many cuts say together: how each arm did, what survives by kind, and how far the replay agrees with the record.

The control is a page from another project: what it lets go ahead is what any page would, by chance and by convention.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from ullage.survive.actions import Recorded
from ullage.survive.bootstrap import Interval, ratio, share
from ullage.survive.replaying import Outcome, replay
from ullage.survive.survival import KINDS, Known, Survivors, survivors

_HOME = re.compile(r"^(?:[A-Za-z]:)?/(?:home|Users)/[^/]+/")
# Names of folders that projects of different kinds are in.
_COMMON_NAMES = frozenset(
    re.findall(r"[^ ]*", "code dev git github.com main projects repos root src tmp work workspace worktrees .worktrees")
)


class Arm(StrEnum):
    """What is carried over a cut."""

    AGENT = "agent"
    TAIL = "tail"
    MASKING = "masking"
    OURS = "ullage"
    BESIDE = "agent + ullage"
    BRIEF = "agent + brief"
    ORACLE = "everything"
    EMPTY = "nothing"
    SHUFFLED = "other project"
    OTHER_BRIEF = "agent + other brief"


class Carried(Struct, frozen=True, kw_only=True):
    """The texts that one arm carries, and their tokens."""

    texts: tuple[str, ...]
    size: int


class Trial(Struct, frozen=True, kw_only=True):
    """One cut. `project` is the folder in which the conversation began, or else the conversation. `page` is what Ullage
    carries, `own` what the agent itself carried, and `brief` what Ullage gives back next to that; both are None at a
    chosen cut."""

    project: str
    conversation: str
    recorded: Recorded
    known: Known
    page: Carried
    own: Carried | None
    outcomes: Mapping[Arm, Outcome]
    survivors: Mapping[Arm, tuple[Survivors, ...]]
    brief: Carried | None = None


class ArmRow(Struct, frozen=True, kw_only=True):
    """How one arm did over all of its cuts.

    - `size`: tokens carried, on average.
    - `unblocked`: of the actions that need something, the percentage that can go ahead; null if none needs anything.
    - `against_agent`: that share divided by the one of the agent's own summary, at the same cuts.
    - `facts`: the percentage of the facts needed that were carried.
    - `lookups` and `lookup_tokens`: what must be looked up again, per cut. `lookups_against_agent`: these look-ups
      divided by those after the agent's own summary, at the same cuts; null if that needs none.
    - `unknown`: facts missing per cut that no look-up had shown.
    """

    arm: Arm
    cuts: int
    size: float
    unblocked: Interval | None
    against_agent: Interval | None
    facts: Interval | None
    lookups: float
    lookup_tokens: float
    lookups_against_agent: Interval | None
    unknown: float


class KindRow(Struct, frozen=True, kw_only=True):
    """How much of one kind was known before the cuts, and the percentage that each arm carries, by the arm's name."""

    kind: str
    known: int
    carried: dict[str, float]


class Calibration(Struct, frozen=True, kw_only=True):
    """What the replay says of the agent's own summary, and what the agent did.

    `predicted` and `predicted_tokens` are the look-ups that it should have had to make again, per cut; `recorded` and
    `recorded_tokens` those that it made. `missing_looked` is the percentage of the facts that its summary lacks which
    it looked at again before it used them, `carried_looked` the same of the facts that its summary has.
    """

    predicted: float
    predicted_tokens: float
    recorded: float
    recorded_tokens: float
    missing_looked: Interval | None
    carried_looked: Interval | None


class Study(Struct, frozen=True, kw_only=True):
    """The result over `cuts` cuts of `conversations`. `actions` were replayed, of which `needing` need something from
    before the cut. `calibration` is null without recorded compactions."""

    cuts: int
    conversations: int
    actions: int
    needing: int
    arms: tuple[ArmRow, ...]
    kinds: tuple[KindRow, ...]
    calibration: Calibration | None


def make_trial(
    conversation: str, project: str, recorded: Recorded, known: Known, carried: Mapping[Arm, Carried]
) -> Trial:
    """Returns the trial of a cut. `carried` must have Ullage's arm."""
    return Trial(
        project=project or conversation,
        conversation=conversation,
        recorded=recorded,
        known=known,
        page=carried[Arm.OURS],
        own=carried.get(Arm.AGENT),
        outcomes={arm: replay(recorded, each.texts, each.size) for arm, each in carried.items()},
        survivors={arm: survivors(known, each.texts) for arm, each in carried.items()},
    )


def study(trials: Sequence[Trial]) -> Study:
    """Returns the result of the trials."""
    trials = list(with_control(trials))
    return Study(
        cuts=len(trials),
        conversations=len({trial.conversation for trial in trials}),
        actions=sum(len(trial.recorded.actions) + trial.recorded.free for trial in trials),
        needing=sum(len(trial.recorded.actions) for trial in trials),
        arms=tuple(_arm_row(arm, trials) for arm in Arm if any(arm in trial.outcomes for trial in trials)),
        kinds=tuple(_kind_rows(trials)),
        calibration=_calibration([trial for trial in trials if Arm.AGENT in trial.outcomes]),
    )


def same_project(one: str, other: str) -> bool:
    """Returns whether two folders are of one project: whether they are equal or share a folder's name below the home
    folder, as a checkout and its worktrees do. Names such as `src` don't count."""
    return one == other or not _own_names(one).isdisjoint(_own_names(other))


def _own_names(folder: str) -> frozenset[str]:
    return frozenset(_HOME.sub("", folder.replace("\\", "/")).lower().split("/")) - _COMMON_NAMES


def with_control(trials: Sequence[Trial]) -> Iterator[Trial]:
    """Yields the trials with the control arms: the page of the next trial of another project, and next to the agent's
    own the brief of such a one. A trial without any is yielded as it is."""
    for place, trial in enumerate(trials):
        following = (*trials[place + 1 :], *trials[:place])
        others = [other for other in following if not same_project(other.project, trial.project)]
        page = next((other.page for other in others), None)
        brief = next((other.brief for other in others if other.brief), None)
        arms = {Arm.SHUFFLED: page} if page else {}
        if brief and trial.own:
            arms[Arm.OTHER_BRIEF] = Carried(texts=(*trial.own.texts, *brief.texts), size=trial.own.size + brief.size)
        yield replace(
            trial,
            outcomes={**trial.outcomes, **{arm: replay(trial.recorded, c.texts, c.size) for arm, c in arms.items()}},
            survivors={**trial.survivors, **{arm: survivors(trial.known, c.texts) for arm, c in arms.items()}},
        )


def _arm_row(arm: Arm, trials: Sequence[Trial]) -> ArmRow:
    found = [trial.outcomes[arm] for trial in trials if arm in trial.outcomes]
    beside = [trial.outcomes for trial in trials if arm in trial.outcomes and Arm.AGENT in trial.outcomes]
    return ArmRow(
        arm=arm,
        cuts=len(found),
        size=_mean([each.size for each in found]),
        unblocked=share([(each.unblocked, each.needing) for each in found]),
        against_agent=ratio([(each[arm].unblocked, each[Arm.AGENT].unblocked) for each in beside]),
        facts=share([(each.carried, each.needed) for each in found]),
        lookups=_mean([each.lookups for each in found]),
        lookup_tokens=_mean([each.tokens for each in found]),
        lookups_against_agent=ratio([(each[arm].lookups, each[Arm.AGENT].lookups) for each in beside]),
        unknown=_mean([each.unknown for each in found]),
    )


def _kind_rows(trials: Sequence[Trial]) -> Iterator[KindRow]:
    for kind in KINDS:
        by_arm = {
            arm: [each for trial in trials for each in trial.survivors.get(arm, ()) if each.kind is kind] for arm in Arm
        }
        known = sum(each.known for each in by_arm[Arm.OURS])
        if known:
            carried = {
                arm.value: 100 * sum(each.carried for each in found) / sum(each.known for each in found)
                for arm, found in by_arm.items()
                if found
            }
            yield KindRow(kind=kind.value, known=known, carried=carried)


def _calibration(trials: Sequence[Trial]) -> Calibration | None:
    if not trials:
        return None
    own = [trial.outcomes[Arm.AGENT] for trial in trials]
    return Calibration(
        predicted=_mean([each.lookups for each in own]),
        predicted_tokens=_mean([each.tokens for each in own]),
        recorded=_mean([trial.recorded.looks_again for trial in trials]),
        recorded_tokens=_mean([trial.recorded.look_tokens for trial in trials]),
        missing_looked=share([(each.missing_looked, each.needed - each.carried) for each in own]),
        carried_looked=share([(each.carried_looked, each.carried) for each in own]),
    )


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
