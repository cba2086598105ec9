"""What reports teach about a model: how its tokens relate to the local count, and what becomes of its answers.

Learned only from the growth between two consecutive reports of one context. The whole prompt would teach a wrong ratio:
it holds a fixed part that the session does not show (system prompt, tools).
"""

from msgspec import Struct
from msgspec.structs import replace

# Tokens of imagined evidence for the local count being right; a few tool results outweigh it.
PRIOR_WEIGHT = 2_000
# Where the encoding is the model's own, disagreement tells of text that the session does not show.
EXACT_WEIGHT = 50_000
# Framing of messages and what clients add are not exact.
EXACT_ERROR = 0.02
# Of older evidence at each step: 2 % forgotten, so that about 50 reports count.
KEPT = 0.98
# Forgetting for the two ways an answer may count: faster, there is nothing to average.
KEPT_ERROR = 0.8
# Growth that disagrees with the count by more than this factor has another cause: hidden text, a client's own edit.
OUTLIER = 3.0
# Share by which a local count of new text may be off while the ratio is being learned.
UNCERTAIN = 0.3
# Under this many tokens the framing of messages outweighs their text.
LEAST_GROWTH = 100


class Step(Struct, frozen=True, kw_only=True):
    """What went into the context since a report, all but `output` in local counts.

    `output`: the report's output tokens; `answer`: the message they belong to; `added`: everything after that message.
    `reasoning`: tokens of this prompt turn's earlier answers that the session does not show. `new_turn`: a prompt
    turn began after the answer.
    """

    output: int
    answer: int
    added: int
    reasoning: float = 0.0
    new_turn: bool = False


class Rivals(Struct, frozen=True, kw_only=True):
    """Two ways of predicting, each with its errors so far (tokens, decayed)."""

    usual: float = 0.0
    other: float = 0.0

    @property
    def other_is_better(self) -> bool:
        """Whether experience speaks against the usual way."""
        return self.other < self.usual

    def judged(self, usual: float, other: float) -> "Rivals":
        """With one more error of each."""
        return Rivals(usual=self.usual * KEPT_ERROR + abs(usual), other=self.other * KEPT_ERROR + abs(other))


class Calibration(Struct, frozen=True, kw_only=True):
    """What is known about one model; kept across sessions.

    `tokens` and `counted` are reported and local tokens of the growth seen, decayed. `error` is the mean error of newly
    added text as a share. `hidden` is what a prompt held beyond the session in the last session that showed neither
    system prompt nor tools. What experience decides:

    `answers`: an answer adds its output tokens, or its local count (reasoning is output that may never return).
    `turns`: reasoning leaves with the next prompt, as providers document, or stays.
    `reminders`: a prompt adds what the session shows, or also what the one before had beyond that, `reminder`: clients
    put unseen text beside prompts.
    """

    tokens: float = PRIOR_WEIGHT
    counted: float = PRIOR_WEIGHT
    answers: Rivals = Rivals()
    turns: Rivals = Rivals()
    reminders: Rivals = Rivals()
    reminder: float = 0.0
    error: float = 0.1
    hidden: int = 0

    @classmethod
    def prior(cls, error_share: float) -> "Calibration":
        """What to believe of a model before its first report, given what its counter states of its error."""
        weight = PRIOR_WEIGHT if error_share else EXACT_WEIGHT
        return cls(tokens=weight, counted=weight, error=error_share or EXACT_ERROR)

    @property
    def ratio(self) -> float:
        """Tokens per locally counted token."""
        return self.tokens / self.counted

    def scale(self, counted: float) -> float:
        """A local count as the model's tokens."""
        return counted * self.ratio

    def counts_answer(self, step: Step) -> bool:
        """Whether an answer adds its local count, because its output tokens are implausible or never return."""
        return is_placeholder(step.output, step.answer) or self.answers.other_is_better

    def unseen(self, step: Step) -> float:
        """Tokens of the turn's answers that the session does not show: reasoning."""
        return step.reasoning + (0 if self.counts_answer(step) else max(0, step.output - self.scale(step.answer)))

    def expect(self, step: Step) -> float:
        """Tokens by which the next prompt exceeds the reported one."""
        # Once seen, a reminder is expected again until that proves the worse guess.
        reminded = step.new_turn and not self.reminders.other > self.reminders.usual
        return self._expect_shown(step) + (self.reminder if reminded else 0)

    def learn(self, step: Step, grown: int) -> "Calibration":
        """With what one more report tells: by how many tokens the prompt has grown since the one before."""
        taught = self._learn_turn(step, grown) if step.new_turn else self._learn_answer(step, grown)
        counted = step.added + (step.answer if taught.counts_answer(step) else 0)
        rest = grown - taught.expect(step) + taught.scale(counted)
        if counted < LEAST_GROWTH or not counted / OUTLIER < rest / self.ratio < counted * OUTLIER:
            return taught
        off = abs(rest - self.scale(counted)) / rest
        return replace(
            taught,
            tokens=taught.tokens * KEPT + rest,
            counted=taught.counted * KEPT + counted,
            error=taught.error * KEPT_ERROR + off * (1 - KEPT_ERROR),
        )

    def _expect_shown(self, step: Step) -> float:
        answer = self.scale(step.answer) if self.counts_answer(step) else step.output
        leaves = self.unseen(step) if step.new_turn and not self.turns.other_is_better else 0
        return answer - leaves + self.scale(step.added)

    def _learn_answer(self, step: Step, grown: int) -> "Calibration":
        """Within a turn: whether the answer came back as its output tokens or as its text."""
        answer, added = self.scale(step.answer), self.scale(step.added)
        # A difference that the uncertain count of what was added may explain proves nothing.
        if is_placeholder(step.output, step.answer) or abs(step.output - answer) < UNCERTAIN * added:
            return self
        rest = grown - added
        return replace(self, answers=self.answers.judged(rest - step.output, rest - answer))

    def _learn_turn(self, step: Step, grown: int) -> "Calibration":
        """At a new prompt: whether the last turn's reasoning left, and what came with the prompt unseen."""
        unseen, rest = self.unseen(step), grown - self._expect_shown(step)
        turns = self.turns
        if unseen > UNCERTAIN * self.scale(step.added):
            left = rest + unseen if turns.other_is_better else rest
            turns = turns.judged(left, left - unseen)
        taught = replace(self, turns=turns)
        extra = grown - taught._expect_shown(step)
        # Less than expected is a client's own edit, a little more the uncertain count of what was added.
        if extra < UNCERTAIN * self.scale(step.added + step.answer):
            extra = 0.0
        return replace(taught, reminders=self.reminders.judged(extra, extra - self.reminder), reminder=extra)


def is_placeholder(output: int, counted: int) -> bool:
    """Whether reported output tokens cannot be those of an answer that counts so many: under half of it.

    No tokenizer measured needs fewer than 0.9 tokens per token of o200k; Claude Code's logs hold 1 to 8 for any answer.
    """
    return 2 * output < counted
