"""What usage reports teach about a model: the ratio of its tokens to the local count, and whether its answers' tokens
return in later prompts.

Only the growth between two consecutive reports of one context is used. The whole prompt would teach a wrong ratio,
because it holds a fixed part that the session does not contain (system prompt, tools).
"""

from msgspec import Struct
from msgspec.structs import replace

# Tokens of assumed evidence that the local count is right; a few tool results outweigh it.
PRIOR_WEIGHT = 2_000
# The same where the encoding is the model's own: a difference then means text that the session does not contain.
EXACT_WEIGHT = 50_000
# The framing of messages and the text that clients add are not known exactly.
EXACT_ERROR = 0.02
# The share of older evidence kept at each step. Forgetting 2 % means that about 50 reports count.
KEPT = 0.98
# The same for the two ways an answer may count. It is smaller, because there is nothing to average.
KEPT_ERROR = 0.8
# If growth and count differ by more than this factor, the cause is another one: hidden text, or an edit by the client.
OUTLIER = 3.0
# The share by which a local count of new text may be wrong while the ratio is still being learned.
UNCERTAIN = 0.3
# Tokens. Below this growth the framing of messages outweighs their text.
LEAST_GROWTH = 100


class Step(Struct, frozen=True, kw_only=True):
    """What was added to the context since a report. All fields but `output` are local counts.

    `output`: the report's output tokens. `answer`: the message that they belong to. `added`: everything after that
    message. `reasoning`: tokens of this prompt turn's earlier answers that the session does not contain. `new_turn`: a
    prompt turn began after the answer.
    """

    output: int
    answer: int
    added: int
    reasoning: float = 0.0
    new_turn: bool = False


class Rivals(Struct, frozen=True, kw_only=True):
    """Two ways of predicting, each with its past errors (tokens, decayed)."""

    usual: float = 0.0
    other: float = 0.0

    @property
    def other_is_better(self) -> bool:
        """Whether the other way has had the smaller error."""
        return self.other < self.usual

    def judged(self, usual: float, other: float) -> "Rivals":
        """Returns the rivals with one more error of each way."""
        return Rivals(usual=self.usual * KEPT_ERROR + abs(usual), other=self.other * KEPT_ERROR + abs(other))


class Calibration(Struct, frozen=True, kw_only=True):
    """What is known about one model. It is kept across sessions.

    `tokens` and `counted` are the reported and the local tokens of the growth seen, decayed. `error` is the mean error
    of newly added text as a share. `hidden` is the part of a prompt beyond the session's content, from the last session
    that had neither system prompt nor tools of its own. Experience decides between two ways in three questions:

    `answers`: an answer adds its output tokens, or its local count (reasoning is output that may never return).
    `turns`: reasoning leaves the context with the next prompt, as providers document, or stays. `reminders`: a prompt
    adds what the session contains, or also `reminder` tokens, the surplus of the prompt before; clients add unseen text
    to prompts.
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
        """Returns the calibration to assume for a model before its first report, from the error that its counter
        states."""
        weight = PRIOR_WEIGHT if error_share else EXACT_WEIGHT
        return cls(tokens=weight, counted=weight, error=error_share or EXACT_ERROR)

    @property
    def ratio(self) -> float:
        """The model's tokens per locally counted token."""
        return self.tokens / self.counted

    def scale(self, counted: float) -> float:
        """Converts a local count to the model's tokens."""
        return counted * self.ratio

    def counts_answer(self, step: Step) -> bool:
        """Returns whether an answer adds its local count, because its output tokens are implausible or never return
        in a prompt."""
        return is_placeholder(step.output, step.answer) or self.answers.other_is_better

    def unseen(self, step: Step) -> float:
        """Returns the tokens of the turn's answers that the session does not contain: reasoning."""
        return step.reasoning + (0 if self.counts_answer(step) else max(0, step.output - self.scale(step.answer)))

    def expect(self, step: Step) -> float:
        """Returns the number of tokens by which the next prompt will exceed the reported one."""
        # Once seen, a reminder is expected again until that turns out to be the worse guess.
        reminded = step.new_turn and not self.reminders.other > self.reminders.usual
        return self._expect_shown(step) + (self.reminder if reminded else 0)

    def learn(self, step: Step, grown: int) -> "Calibration":
        """Returns the calibration after one more report; `grown` is the number of tokens by which the prompt has
        grown since the report before."""
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
        """Learns within a turn whether the answer came back as its output tokens or as its text."""
        answer, added = self.scale(step.answer), self.scale(step.added)
        # A difference that the uncertain count of the added text may explain proves nothing.
        if is_placeholder(step.output, step.answer) or abs(step.output - answer) < UNCERTAIN * added:
            return self
        rest = grown - added
        return replace(self, answers=self.answers.judged(rest - step.output, rest - answer))

    def _learn_turn(self, step: Step, grown: int) -> "Calibration":
        """Learns at a new prompt whether the last turn's reasoning left, and how much unseen text came with the
        prompt."""
        unseen, rest = self.unseen(step), grown - self._expect_shown(step)
        turns = self.turns
        if unseen > UNCERTAIN * self.scale(step.added):
            left = rest + unseen if turns.other_is_better else rest
            turns = turns.judged(left, left - unseen)
        taught = replace(self, turns=turns)
        extra = grown - taught._expect_shown(step)
        # Less than expected means an edit by the client; slightly more means the uncertain count of the added text.
        if extra < UNCERTAIN * self.scale(step.added + step.answer):
            extra = 0.0
        return replace(taught, reminders=self.reminders.judged(extra, extra - self.reminder), reminder=extra)


def is_placeholder(output: int, counted: int) -> bool:
    """Returns whether reported output tokens are too few for an answer of `counted` tokens: fewer than half of them.

    No tokenizer measured needs fewer than 0.9 tokens per token of o200k. Claude Code's logs hold 1 to 8 for any answer.
    """
    return 2 * output < counted
