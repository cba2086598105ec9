"""Every number that decides what an offline summary holds, each with its source.

The weights aim at what `./scripts/bench quality` measures: names that the agent writes again before anything shows
them. `./scripts/bench quality --ablate` prints what each number buys there. See README.md next to this file.
"""

from msgspec import Struct

# English prose and code have 3.5 to 4.5 characters per token in the tokenizers we pack. Only a rule of thumb: what is
# written into a summary is counted exactly.
CHARACTERS_PER_TOKEN = 4


class Tuning(Struct, frozen=True, kw_only=True):
    """Weights and shares of the offline summary. A weight is the likelihood, from 0 to 1, that the agent writes a name
    again before anything shows it. Values of text without names have the same unit. A share is a part of the tokens
    that the summary and the ledger may take together, unless its field says otherwise.

    Fitted numbers are coefficients of the logistic model in `choosing/weights.py`. `./scripts/fit_weights` computes
    them from the recorded sessions that the script names; they must not be edited by hand. Chosen numbers are set by
    hand, for the reason given.
    """

    # Fitted. The logit of a name that the agent never wrote and that occurs at the end of the messages. The points that
    # each number buys are the best column of `bench quality --ablate`, whose standard error is 0.1 to 0.4 points.
    base: float = -2.70
    # Fitted. Added if the agent itself ever wrote the name, in prose or in a call.
    written: float = 2.15
    # Fitted. Times log2(1 + how often the agent said the name in prose or thinking).
    said: float = 0.55
    # Fitted. Times log2(1 + how often the agent wrote the name in a tool call).
    called: float = 0.35
    # Fitted. Times log2(1 + thousands of tokens since the name last occurred).
    distance: float = -0.50

    # Chosen: about the weight of a name that the agent wrote once, long ago. The weight of a name that occurs in an
    # earlier summary and in none of the messages since. Buys 1.2 points at a second compaction.
    carried_weight: float = 0.1
    # Chosen: the weight of three such names. What the oldest item of an earlier summary is worth in addition to its
    # names, falling to 0 for the newest item. It keeps what the first of several compactions knew until after the
    # third. Buys 0.4 points.
    seniority: float = 0.3
    # Chosen: what each character of text under an earlier summary's own titles is worth in addition to its names. It
    # comes before single findings of an earlier summary, so that such text stays together.
    earlier_value: float = 0.003
    # Chosen so that a sentence with a conclusion comes before other text without names, and after most names. Buys
    # nothing that the probe sees (-0.1 points), because it serves sentences without names.
    said_value: float = 0.005
    # Chosen: a tenth of `said_value`, so that text without names is still better than an empty page. Buys nothing that
    # the probe sees (0.0 points).
    shown_value: float = 0.0005
    # Chosen: about the weight of a name written a moment ago, because the next try needs to know a failure and its fix.
    # Buys 0.2 points.
    error_value: float = 0.2

    # Chosen: leaves the summary at least five sixths. Files and commands of long sessions fill the ledger. Buys 0.8
    # points.
    ledger_share: float = 0.15
    # Chosen: the most that the user's words take. They are the surest record of what is wanted, and cost 3 % of a usual
    # session's tokens.
    requests_share: float = 0.33
    # Chosen: the most that any one section may take of those written for the reader (task, plan, state, requests,
    # errors and so on). A separate share for each section bought nothing (0.0 points). Costs 0.5 to 1.1 points of what
    # the probe sees, because names could take the place of the user's words, the plan and the state.
    section_share: float = 0.12
    # Chosen, of the room left at that point: the most that unresolved conflicts of a merge take. The work can't be
    # continued without them, and the rest of their files says little. Buys 0.9 points at 8,000 tokens, all of it in one
    # session.
    conflicts_share: float = 0.4
    # Chosen: the most that text with a word of the user's focus takes before all other text. The probe has no focus.
    focus_share: float = 0.3
    # Chosen: the most that earlier summaries take before new text competes with them. Buys 0.7 points at a second
    # compaction.
    carried_share: float = 0.4
    # Chosen, of the room left at that point: prose comes before lines of code, because prose can be understood alone.
    # Costs 0.1 to 0.7 points of what the probe sees.
    findings_share: float = 0.3
    # Chosen: reserved for the names that found no room on the page, of which a fifth goes to the files in which they
    # were seen. Buys 1.7 points at a second compaction.
    hints_share: float = 0.05


TUNING = Tuning()
