"""What reports teach about a model: how its tokens relate to the local count, and what becomes of its answers.

Learned only from the growth between two consecutive reports of one context. The whole prompt would teach a wrong ratio:
it holds a fixed part that the session does not show (system prompt, tools).
"""

from msgspec import Struct
from msgspec.structs import replace

# Tokens of imagined evidence for the local count being right; a few tool results outweigh it.
PRIOR_WEIGHT = 2_000
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


class Growth(Struct, frozen=True, kw_only=True):
    """What lies between two consecutive reports. `reported`: prompt after minus prompt before, tokens.

    `output` is the earlier report's output tokens; `answer` the local count of the message they belong to; `added`
    the local count of everything after that message.
    """

    reported: int
    output: int
    answer: int
    added: int


class Calibration(Struct, frozen=True, kw_only=True):
    """What is known about one model; kept across sessions.

    `tokens` and `counted` are reported and local tokens of the growth seen, decayed; `output_error` and `answer_error`
    how far off growth was (tokens, decayed) when an answer was taken as its output tokens or as its local count.
    `error` is the mean error of newly added text as a share; `hidden` what a prompt held beyond the session in the last
    session that showed neither system prompt nor tools.
    """

    tokens: float = PRIOR_WEIGHT
    counted: float = PRIOR_WEIGHT
    output_error: float = 0.0
    answer_error: float = 0.0
    error: float = 0.1
    hidden: int = 0

    @property
    def ratio(self) -> float:
        """Tokens per locally counted token."""
        return self.tokens / self.counted

    def scale(self, counted: float) -> float:
        """A local count as the model's tokens."""
        return counted * self.ratio

    def answer(self, output: int, counted: int) -> float:
        """Tokens an answer adds to the next prompt, from its output tokens and its local count.

        Its output tokens, unless they are implausible or experience says otherwise: some logs hold the placeholder a
        stream starts with, and some models' reasoning counts as output but never returns in a prompt.
        """
        if is_placeholder(output, counted) or self.answer_error < self.output_error:
            return self.scale(counted)
        return output

    def learn(self, growth: Growth) -> "Calibration":
        """With what one more pair of reports tells."""
        taught = self._learn_answer(growth)
        from_output = taught.answer(growth.output, growth.answer) == growth.output
        counted = growth.added if from_output else growth.added + growth.answer
        reported = growth.reported - growth.output if from_output else growth.reported
        if counted < LEAST_GROWTH or not counted / OUTLIER < reported / self.ratio < counted * OUTLIER:
            return taught
        off = abs(reported - self.scale(counted)) / reported
        return replace(
            taught,
            tokens=taught.tokens * KEPT + reported,
            counted=taught.counted * KEPT + counted,
            error=taught.error * KEPT_ERROR + off * (1 - KEPT_ERROR),
        )

    def _learn_answer(self, growth: Growth) -> "Calibration":
        answer, added = self.scale(growth.answer), self.scale(growth.added)
        # A difference that the uncertain count of what was added may explain proves nothing.
        if is_placeholder(growth.output, growth.answer) or abs(growth.output - answer) < UNCERTAIN * added:
            return self
        rest = growth.reported - added
        return replace(
            self,
            output_error=self.output_error * KEPT_ERROR + abs(rest - growth.output),
            answer_error=self.answer_error * KEPT_ERROR + abs(rest - answer),
        )


def is_placeholder(output: int, counted: int) -> bool:
    """Whether reported output tokens cannot be those of an answer that counts so many: under half of it.

    No tokenizer measured needs fewer than 0.9 tokens per token of o200k; Claude Code's logs hold 1 to 8 for any answer.
    """
    return 2 * output < counted
