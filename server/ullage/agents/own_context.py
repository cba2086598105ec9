"""What an agent does with its own context: the window that it gives a model, and where it compacts.

Rules are functions from an agent's `Setup` to tokens. The common shapes are made here; an agent's own rules are in
its folder.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from ullage.agents.own_settings import Given
from ullage.model.message import Message


class Setup(Struct, frozen=True, kw_only=True):
    """The facts that decide where an agent compacts: its version and the model as its files name them (empty if
    unknown), the window in tokens (0 if it is not known yet), the most tokens of one answer (None if unknown), and what
    the user's settings of the agent say (`given`)."""

    version: str = ""
    model: str = ""
    window: int = 0
    max_output: int | None = None
    given: Given = Given()


class Rule(Struct, frozen=True, kw_only=True):
    """A window or threshold in tokens (`tokens`), and the rule that it follows from, in words for the user (`basis`).

    `setting` is the agent's setting that decides it, such as `model_auto_compact_token_limit=50000`; empty if none
    does. `ignored` is the setting that asks for something else and has no effect by the rule.
    """

    tokens: int
    basis: str
    setting: str = ""
    ignored: str = ""


class Without(Struct, frozen=True, kw_only=True):
    """The agent does not compact by itself. `basis` says why, as one sentence for the user. `setting` and `ignored` are
    as in `Rule`."""

    basis: str
    setting: str = ""
    ignored: str = ""


Threshold = Rule | Without | None


def _no_rule(_: Setup) -> Rule | None:
    return None


class FileAgain(Struct, frozen=True, kw_only=True):
    """A file that may come back after a compaction: the most that is known of its text, as the agent shows it (`shown`)
    and without the numbers of its lines (`plain`), how many times as large the part of the file is that is known to be
    there (`times`), and how many times as large as that the whole is likely to be (`more`)."""

    shown: str = ""
    plain: str = ""
    times: float = 1.0
    more: float = 1.0


class Reattached(Struct, frozen=True, kw_only=True):
    """The files that an agent adds to the context again after a compaction. One whose plain text has more than `most`
    tokens is only named."""

    files: tuple[FileAgain, ...]
    most: int


class Idle(Struct, frozen=True, kw_only=True):
    """The agent compacts a conversation that idles, while the provider's cache of its prompt lasts: `after`
    milliseconds after the last answer, from `least` tokens on. `setting` is the setting that stops it."""

    after: int
    least: int
    setting: str


class OwnContext(Struct, frozen=True, kw_only=True):
    """What an agent does with its own context.

    - `window`: returns the window that the agent gives a model if its user chooses none; it is called with a `Setup`
      whose `window` is 0. None means the model's own window.
    - `wider`: the larger windows that a user can choose, in tokens, smallest first.
    - `threshold`: returns the size of the context at which the agent compacts by itself, or that it does not; None if
      neither is known.
    - `is_exact`: whether it compacts before each call, so that no call is made with more than the threshold.
    - `idle`: returns when the agent compacts a conversation that idles and whose prompt the provider keeps in its cache
      for an hour; None if it does not.
    - `reattached`: returns what the agent adds to the context after a compaction in addition to the summary, from the
      messages before the compaction; None if that is not known.
    """

    window: Callable[[Setup], Rule | None] = _no_rule
    wider: tuple[int, ...] = ()
    threshold: Callable[[Setup], Threshold] = _no_rule
    is_exact: bool = False
    idle: Callable[[Setup], Idle | None] = lambda _: None
    reattached: Callable[[Setup, Sequence[Message]], Reattached | None] = lambda _setup, _context: None


def share(part: float) -> Callable[[Setup], Threshold]:
    """Returns the threshold rule of an agent that compacts at a share of the window (`part`, from 0 to 1). Settings of
    the agent may name another share, or switch compaction off."""

    def rule(setup: Setup) -> Threshold:
        given = setup.given
        if given.automatic is False:
            return switched_off(given)
        used = part if given.share is None else given.share
        basis = f"{used:.0%} of the window"
        return Rule(tokens=int(setup.window * used), basis=basis, setting=given.name("share"))

    return rule


def before_end(tokens: int) -> Callable[[Setup], Threshold]:
    """Returns the threshold rule of an agent that compacts `tokens` before the end of the window. Settings of the agent
    may name another number, or switch compaction off. The rule returns None if the window is smaller."""

    def rule(setup: Setup) -> Threshold:
        given = setup.given
        if given.automatic is False:
            return switched_off(given)
        kept = tokens if given.reserve is None else given.reserve
        return _positive(setup.window - kept, f"{kept:,} tokens before the end of the window", given.name("reserve"))

    return rule


# opencode 2 keeps a buffer free of the window and of the largest prompt (its documentation, "Compaction").
_BOTH_LIMITS = (2,)


def less_output(most: int, reserve: int) -> Callable[[Setup], Threshold]:
    """Returns the threshold rule of an agent that keeps the tokens of the longest answer free, but at most `most`
    tokens. If the user's settings name the model's largest prompt, the agent keeps `reserve` tokens of that free. From
    version 2 on, the agent keeps as many free of the window, too. The rule returns None if the length of the longest
    answer is unknown."""

    def rule(setup: Setup) -> Threshold:
        given = setup.given
        if given.automatic is False:
            return switched_off(given)
        longest = given.max_output or setup.max_output
        if version_of(setup.version) >= _BOTH_LIMITS:
            return _of_both(setup, reserve if given.reserve is None else given.reserve, min(longest or most, most))
        if given.window is not None:
            kept = reserve if given.reserve is None else given.reserve
            basis = f"{kept:,} tokens before the end of {given.window:,}"
            return _positive(given.window - kept, basis, given.name("window"))
        if longest is None:
            return None
        kept = min(longest, most)
        return _positive(setup.window - kept, f"{kept:,} tokens, for the answer, before the end of the window")

    return rule


def _of_both(setup: Setup, buffer: int, answer: int) -> Rule | None:
    """Returns the threshold by the window, of which the buffer or the answer stays free, and by the largest prompt."""
    given = setup.given
    kept = max(answer, buffer)
    of_window = _positive(setup.window - kept, f"{kept:,} tokens before the end of the window", given.name("reserve"))
    if given.window is None or given.window - buffer >= setup.window - kept:
        return of_window
    return _positive(
        given.window - buffer, f"{buffer:,} tokens before the end of {given.window:,}", given.name("window")
    )


def switched_off(given: Given) -> Without:
    """Returns that the user's settings switch the agent's own compaction off."""
    return Without(basis=f"{given.name('automatic')} switches compaction off", setting=given.name("automatic"))


def _positive(tokens: int, basis: str, setting: str = "") -> Rule | None:
    return Rule(tokens=tokens, basis=basis, setting=setting) if tokens > 0 else None


def version_of(text: str) -> tuple[int, ...]:
    """Returns the numbers of a version for comparing: `1.2.3-beta` gives `(1, 2)`, because it ends before the first
    part that is not a number."""
    numbers: list[int] = []
    for part in text.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)
