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
# The ratios of the measured tokenizers differ by at most 1.9 (`families`), those of one kind of text by less.
OUTLIER = 2.0
# Tokens. What clients add to every prompt is smaller. A larger text comes once, such as a skill that the user invoked.
LARGEST_REMINDER = 4_000
# The share by which a local count of new text may be wrong while the ratio is still being learned.
UNCERTAIN = 0.3
# Tokens. Below this growth the framing of messages outweighs their text.
LEAST_GROWTH = 100


class Step(Struct, frozen=True, kw_only=True):
    """What was added to the context since a usage report, in tokens.

    From the report: `output`, its output tokens, and `thought`, the part of them that it names as reasoning. Local
    counts: `answer`, of the message that the report belongs to, and `added`, of everything after that message.
    `reasoning`: tokens of this prompt turn's earlier answers that the session does not contain. `new_turn`: whether a
    prompt turn began after the answer.
    """

    output: int
    answer: int
    added: int
    thought: int = 0
    reasoning: float = 0.0
    new_turn: bool = False


class Rivals(Struct, frozen=True, kw_only=True):
    """Two ways of predicting growth, each with the sum of its past errors in tokens. An older error counts less.
    `Calibration` says what each pair predicts."""

    usual: float = 0.0
    other: float = 0.0

    @property
    def other_is_better(self) -> bool:
        """Whether the other way has had the smaller error."""
        return self.other < self.usual

    def judged(self, usual: float, other: float) -> "Rivals":
        """Returns the rivals after one more prediction. `usual` and `other` are the errors of the two ways in tokens,
        of either sign."""
        return Rivals(usual=self.usual * KEPT_ERROR + abs(usual), other=self.other * KEPT_ERROR + abs(other))


class Calibration(Struct, frozen=True, kw_only=True):
    """What usage reports have taught about one model's tokens. Kept across sessions.

    `tokens` and `counted` are the sums of the reported and of the locally counted tokens of the growth seen; older
    growth counts less. `error` is the mean error of counts of new text, as a share. `hidden` is the number of tokens in
    a prompt beyond the session's content, from the last session that had neither system prompt nor tools of its own.

    Past errors decide between two ways of predicting in four questions. `answers`: an answer adds its output tokens, or
    its local count (reasoning is output that may never return). `thoughts`: the output that an answer adds includes
    what the report names as reasoning, or leaves it out. `turns`: reasoning leaves the context with the next prompt, as
    providers document, or stays. `reminders`: a prompt adds the text that the session contains, or also `reminder`
    tokens, the surplus of the prompt before, because clients add text that the session does not contain.
    """

    tokens: float = PRIOR_WEIGHT
    counted: float = PRIOR_WEIGHT
    answers: Rivals = Rivals()
    thoughts: Rivals = Rivals()
    turns: Rivals = Rivals()
    reminders: Rivals = Rivals()
    reminder: float = 0.0
    error: float = 0.1
    hidden: int = 0

    @classmethod
    def prior(cls, error_share: float) -> "Calibration":
        """Returns the calibration to assume for a model before its first report. `error_share` is the error that its
        counter states; 0.0 means an exact counter, whose counts many reports are needed to correct."""
        weight = PRIOR_WEIGHT if error_share else EXACT_WEIGHT
        return cls(tokens=weight, counted=weight, error=error_share or EXACT_ERROR)

    @property
    def ratio(self) -> float:
        """The model's tokens per locally counted token, by all growth seen."""
        return self.tokens / self.counted

    def scale(self, counted: float) -> float:
        """Converts a local count to the model's tokens by `ratio`."""
        return counted * (self.tokens / self.counted)

    def counts_answer(self, step: Step) -> bool:
        """Returns whether the next prompt is expected to contain an answer's local count instead of its reported output
        tokens: because these are too few to be true, or because the local count has predicted better."""
        return is_placeholder(step.output, step.answer) or self.answers.other_is_better

    def unseen(self, step: Step) -> float:
        """Returns the tokens of reasoning that this prompt turn's answers, the step's included, have added to the
        context and that the session does not contain."""
        return self._split(step)[1]

    def expect(self, step: Step) -> float:
        """Returns the number of tokens by which the next prompt is expected to exceed the reported prompt."""
        return self._expect_shown(step) + (self.reminder if step.new_turn and self._reminds else 0)

    def learn(self, step: Step, grown: int) -> "Calibration":
        """Returns the calibration after one more report. `grown` is the number of tokens by which the reported prompt
        exceeds the one of the report before, and `step` is what was added between the two."""
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

    @property
    def _reminds(self) -> bool:
        """Whether the next prompt turn is expected to bring `reminder` tokens again. This is so until it has predicted
        worse than expecting none. A reminder of more than `LARGEST_REMINDER` tokens must have predicted better first.
        """
        if self.reminder > LARGEST_REMINDER:
            return self.reminders.other_is_better
        return not self.reminders.other > self.reminders.usual

    def _returned(self, step: Step) -> int:
        """Returns the output tokens of the answer that return in the next prompt: all, or without reasoning if that has
        predicted better."""
        return step.output - (step.thought if self.thoughts.other_is_better else 0)

    def _split(self, step: Step) -> tuple[float, float]:
        """Returns the tokens that the answer adds to the next prompt, and those of the turn's answers that the session
        does not contain."""
        counted = self.scale(step.answer)
        if self.counts_answer(step):
            return counted, step.reasoning
        returned = self._returned(step)
        return returned, step.reasoning + max(0, returned - counted)

    def _expect_shown(self, step: Step) -> float:
        answer, unseen = self._split(step)
        leaves = unseen if step.new_turn and not self.turns.other_is_better else 0
        return answer - leaves + self.scale(step.added)

    def _learn_answer(self, step: Step, grown: int) -> "Calibration":
        """Returns the calibration after a growth of `grown` tokens within a prompt turn. It teaches whether the answer
        came back as its output tokens, with or without the reasoning, or as its local count."""
        answer, added = self.scale(step.answer), self.scale(step.added)
        if is_placeholder(step.output, step.answer):
            return self
        rest, taught = grown - added, self
        # A difference that the uncertain count of the added text may explain proves nothing.
        if step.thought > max(UNCERTAIN * added, LEAST_GROWTH):
            left = rest - step.output + step.thought
            taught = replace(taught, thoughts=taught.thoughts.judged(rest - step.output, left))
        returned = taught._returned(step)
        if abs(returned - answer) < max(UNCERTAIN * added, LEAST_GROWTH):
            return taught
        return replace(taught, answers=taught.answers.judged(rest - returned, rest - answer))

    def _learn_turn(self, step: Step, grown: int) -> "Calibration":
        """Returns the calibration after a growth of `grown` tokens with a new prompt. It teaches whether the last
        turn's reasoning left the context, and how many tokens that the session does not contain came with the prompt.
        """
        (answer, unseen), added = self._split(step), self.scale(step.added)
        stayed = grown - answer - added
        left = stayed + unseen
        taught = replace(self, turns=self.turns.judged(left, stayed)) if unseen > UNCERTAIN * added else self
        extra = stayed if taught.turns.other_is_better else left
        # Less than expected means an edit by the client; slightly more means the uncertain count of the added text.
        if extra < UNCERTAIN * self.scale(step.added + step.answer):
            extra = 0.0
        return replace(taught, reminders=self.reminders.judged(extra, extra - self.reminder), reminder=extra)


def is_placeholder(output: int, counted: int) -> bool:
    """Returns whether reported output tokens are too few for an answer of `counted` tokens: fewer than half of them.

    No tokenizer measured needs fewer than 0.9 tokens per token of o200k. Claude Code's logs hold 1 to 8 for any answer.
    """
    return 2 * output < counted
