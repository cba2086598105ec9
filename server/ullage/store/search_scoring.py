"""Scores a message for a query: its own score by the full-text index, raised by the words of the messages around it.

In a conversation a question is answered in the next turn, which repeats few of its words ("Yes, since Tuesday."). So
a short message counts the words of its neighbours as well; a long one has words enough.

The weights were chosen on LoCoMo (https://arxiv.org/abs/2402.17753: short turns) and BEAM-100K
(https://arxiv.org/abs/2510.27246: long answers) together, the numbers below on their even conversations. The rules were
found with all of them in sight, so no figure on these two is one of unseen questions.
"""

from collections.abc import Mapping

from ullage.store.search_matching import Found

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
# The gain of a very short message in the session with the best message, as a share of its score.
SESSION_GAIN = 1.0
# The gain of a message that holds all words of a query over one that holds none, as a share of its score. With BM25
# alone one rare word outweighs all others, which short queries do not mean.
ALL_WORDS_GAIN = 1.0


def score_message(own: float, share: float, size: int, around: Mapping[int, Found], speaks: bool) -> float:
    """Returns a message's score: from its score in the index (`own`), the share of the query's words that it holds, the
    bytes of its record, the words of its neighbours by their distance (-1: the message before it), and whether the
    query asks for what this speaker said."""
    near: dict[str, float] = {}
    for distance, found in around.items():
        faded = FADING ** (abs(distance) - 1) * (AFTER if distance > 0 else 1.0)
        for word, score in found.items():
            near[word] = max(faded * score, near.get(word, 0.0))
    score = own * (1 + ALL_WORDS_GAIN * share) + NEIGHBOUR_WEIGHT * _shortness(size) * sum(near.values())
    return score * (1 + SPEAKER_GAIN * speaks)


def lend_by_session(score: float, size: int, session_best: float, best: float) -> float:
    """Returns a message's score raised by its session's: the best one in it, against the `best` of all sessions. What a
    short turn is about, its conversation says; a long message says it itself."""
    return score * (1 + SESSION_GAIN * _shortness(size) * session_best / best)


def _shortness(size: int) -> float:
    return 1 / (1 + (size / SHORT_BYTES) ** 2)
