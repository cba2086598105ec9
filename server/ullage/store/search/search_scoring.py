"""Scores a message for a query: its own score by the full-text index, raised by the words of the messages around it.

In a conversation a question is answered in the next turn, which repeats few of its words ("Yes, since Tuesday."). So
a short message counts the words of its neighbours as well; a long one has words enough.

The weights were chosen on LoCoMo (https://arxiv.org/abs/2402.17753: short turns) and BEAM-100K
(https://arxiv.org/abs/2510.27246: long answers) together, the numbers below on their even conversations. The rules were
found with all of them in sight, so no figure on these two is one of unseen questions.
"""

from collections.abc import Mapping

from msgspec import Struct

from ullage.store.search.search_matching import Found

# Messages before and after a message whose words count for it.
REACH = 2
# The weight of the words of the message before against a message's own.
NEIGHBOUR_WEIGHT = 1.0
# The share of that weight which each further step leaves.
FADING = 0.8
# The share of it for words that come after the message: an answer follows its question.
AFTER = 0.8
# Bytes of a message's record at which its neighbours count half of that: about 200 words.
SHORT_BYTES = 1_300
# The gain of a message of which the query asks for the speaker, as a share of its score.
SPEAKER_GAIN = 1.0
# The gain of a turn that begins with the name of who speaks, if the query has the name: less, for the query may ask
# what another said of them.
LABEL_GAIN = 0.5
# The gain of a message of the time that the query names: a preference, because who searches may be wrong about it.
SPAN_GAIN = 1.0
# The gain of a message that says a time or a number, if the query asks for one.
TIME_GAIN = NUMBER_GAIN = 0.3
# The loss of a message that ends with a question: it seldom answers one, unless a speaker's words are asked for.
ASKING_LOSS = 0.2
# The gain of a very short message in the session with the best message, as a share of its score.
SESSION_GAIN = 1.0
# The gain of a message that holds all words of a query over one that holds none, as a share of its score. With BM25
# alone one rare word outweighs all others, which short queries do not mean.
ALL_WORDS_GAIN = 1.0


class Answers(Struct, frozen=True, kw_only=True):
    """What a message has of what a query asks for: it is by the asked role (`speaks`), begins with a name of the query
    as its speaker's (`labelled`), is of the named time (`then`), says a time or a number where one is asked for, or is
    a question itself where no speaker is asked for (`asks`)."""

    speaks: bool = False
    labelled: bool = False
    then: bool = False
    time: bool = False
    number: bool = False
    asks: bool = False


def score_message(own: float, share: float, size: int, around: Mapping[int, Found]) -> float:
    """Returns a message's score: from its score in the index (`own`), the share of the query's words that it holds, the
    bytes of its record, and the words of its neighbours by their distance (-1: the message before it)."""
    near: dict[str, float] = {}
    for distance, found in around.items():
        faded = FADING ** (abs(distance) - 1) * (AFTER if distance > 0 else 1.0)
        for word, score in found.items():
            near[word] = max(faded * score, near.get(word, 0.0))
    return own * (1 + ALL_WORDS_GAIN * share) + NEIGHBOUR_WEIGHT * _shortness(size) * sum(near.values())


def score_asked(answers: Answers) -> float:
    """Returns the factor of a message's score for what it has of what the query asks for besides its words."""
    return (
        (1 + SPEAKER_GAIN * answers.speaks)
        * (1 + LABEL_GAIN * answers.labelled)
        * (1 + SPAN_GAIN * answers.then)
        * (1 + TIME_GAIN * answers.time)
        * (1 + NUMBER_GAIN * answers.number)
        * (1 - ASKING_LOSS * answers.asks)
    )


def lend_by_session(score: float, size: int, session_best: float, best: float) -> float:
    """Returns a message's score raised by its session's: the best one in it, against the `best` of all sessions. What a
    short turn is about, its conversation says; a long message says it itself."""
    return score * (1 + SESSION_GAIN * _shortness(size) * session_best / best)


def _shortness(size: int) -> float:
    return 1 / (1 + (size / SHORT_BYTES) ** 2)
