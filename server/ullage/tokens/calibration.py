"""What usage reports teach about a model: the ratio of its tokens to the local count, and whether its answers' tokens
return in later prompts.

Only the growth between two consecutive reports of one context is used. The whole prompt would teach a wrong ratio,
because it holds a fixed part that the session does not contain (system prompt, tools). Growth that the counted text
does not explain (a picture, an attachment, tool definitions) has happened once: it teaches nothing, and is not expected
again. To expect the surplus of each prompt once more with the next helps nothing: of 4,853 recorded prompts the median
error was 0.0213 % with that and 0.0212 % without, the 95th percentile 0.48 % and 0.47 %.
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
# The bounds of a tokenizer: the fewest and the most tokens of a model per locally counted token. Of the tokenizers in
# `families`, those farthest from the count for an unknown model need 0.8 and 1.6 times as many. Growth outside has
# another cause: text that the session does not contain, or an edit by the client.
LOWEST, HIGHEST = 0.6, 1.7
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
        """Returns the rivals after one more prediction, with the errors of both ways in tokens."""
        return Rivals(usual=self.usual * KEPT_ERROR + abs(usual), other=self.other * KEPT_ERROR + abs(other))


class Calibration(Struct, frozen=True, kw_only=True):
    """What usage reports have taught about one model's tokens. Kept across sessions.

    `tokens` and `counted` are the sums of the reported and of the locally counted tokens of the growth seen; older
    growth counts less. `error` is the mean error of counts of new text, as a share. `hidden` is the number of tokens in
    a prompt beyond the session's content, from the last session that had neither system prompt nor tools of its own.

    Past errors decide between two ways of predicting in three questions. `answers`: an answer adds its output tokens,
    or its local count (reasoning is output that may never return). `thoughts`: the output that an answer adds includes
    what the report names as reasoning, or leaves it out. `turns`: reasoning leaves the context with the next prompt, as
    providers document, or stays.
    """

    tokens: float = PRIOR_WEIGHT
    counted: float = PRIOR_WEIGHT
    answers: Rivals = Rivals()
    thoughts: Rivals = Rivals()
    turns: Rivals = Rivals()
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
        """The model's tokens per locally counted token, by all growth seen; from `LOWEST` to `HIGHEST`."""
        return min(HIGHEST, max(LOWEST, self.tokens / self.counted))

    def scale(self, counted: float) -> float:
        """Converts a local count to the model's tokens by `ratio`."""
        return counted * self.ratio

    def counts_answer(self, step: Step) -> bool:
        """Returns whether the next prompt is expected to contain an answer's local count instead of its reported output
        tokens: because these are too few to be true, or because the local count has predicted better."""
        return is_placeholder(step.output, step.answer) or self.answers.other_is_better

    def unseen(self, step: Step) -> float:
        """Returns the tokens of reasoning that this turn's answers added to the context, but not to the session."""
        return self._split(step)[1]

    def expect(self, step: Step) -> float:
        """Returns the number of tokens by which the next prompt is expected to exceed the reported prompt: those of the
        answer, and from `LOWEST` to `HIGHEST` for each counted token of what was added."""
        answer, unseen = self._split(step)
        leaves = unseen if step.new_turn and not self.turns.other_is_better else 0
        return answer - leaves + self.scale(step.added)

    def learn(self, step: Step, grown: int) -> "Calibration":
        """Returns the calibration after one more report. `grown` is the number of tokens by which the reported prompt
        exceeds the one of the report before, and `step` is what was added between the two."""
        taught = self._learn_turn(step, grown) if step.new_turn else self._learn_answer(step, grown)
        counted = step.added + (step.answer if taught.counts_answer(step) else 0)
        rest = grown - taught.expect(step) + taught.scale(counted)
        if counted < LEAST_GROWTH or not LOWEST <= rest / counted <= HIGHEST:
            return taught
        off = abs(rest - self.scale(counted)) / rest
        return replace(
            taught,
            tokens=taught.tokens * KEPT + rest,
            counted=taught.counted * KEPT + counted,
            error=taught.error * KEPT_ERROR + off * (1 - KEPT_ERROR),
        )

    def _returned(self, step: Step) -> int:
        """Returns the output tokens that return in the next prompt: all, or better predicted, without reasoning."""
        return step.output - (step.thought if self.thoughts.other_is_better else 0)

    def _split(self, step: Step) -> tuple[float, float]:
        """Returns what the answer adds to the next prompt, and the turn's tokens that the session lacks."""
        counted = self.scale(step.answer)
        if self.counts_answer(step):
            return counted, step.reasoning
        returned = self._returned(step)
        # A ratio below 1 is not sure enough to call a part of the text reasoning if the report names none.
        text = counted if step.thought else max(counted, step.answer)
        return returned, step.reasoning + max(0, returned - text)

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
        """Learns from a growth with a new prompt whether the last turn's reasoning left the context."""
        (answer, unseen), added = self._split(step), self.scale(step.added)
        if unseen <= UNCERTAIN * added:
            return self
        stayed = grown - answer - added
        return replace(self, turns=self.turns.judged(stayed + unseen, stayed))


def is_placeholder(output: int, counted: int) -> bool:
    """Returns whether reported output tokens are too few for an answer of `counted` tokens: fewer than half of them.

    No tokenizer measured needs fewer than 0.9 tokens per token of o200k. Claude Code's logs hold 1 to 8 for any answer.
    """
    return 2 * output < counted
