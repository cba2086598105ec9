"""Whether now is a good moment to go on in a new session: a long conversation has just ended a piece of work."""

from ullage.ledger.finished_work import finished_work, may_end
from ullage.ledger.folding import Fold
from ullage.model.figure import GoodMoment
from ullage.model.usage import Usage
from ullage.service.conversation.conversation import Conversation

# Tokens. Below that, another prompt costs little, and nothing is near.
_LONG = 100_000
# Tokens that `ullage continue` hands over unless it is told otherwise.
HANDED_OVER = 20_000


def good_moment(conversation: Conversation) -> GoodMoment | None:
    """Returns the moment, or None if the conversation is short, something of it is open, or a new session would begin
    with more than half of it. Folds all messages of the
    context: about 0.05 ms for each."""
    transcript, projection = conversation.transcript, conversation.projection
    view = transcript.view
    # Folding 10,000 messages takes half a second, so what costs nothing is asked first.
    if conversation.used < _LONG or not view or not may_end(view[-1]):
        return None
    fold = Fold(transcript.cwd)
    for index, message in enumerate(view):
        fold.take(message, index)
    work = finished_work(fold.ledger(), view[-1])
    if work is None:
        return None
    tokens = projection.tracker.reading.breakdown.overhead + HANDED_OVER
    if tokens > conversation.used / 2:
        return None
    written = projection.cached.writes
    cost = projection.price(Usage(cache_creation_input_tokens=tokens) if written else Usage(input_tokens=tokens))
    return GoodMoment(work=work.text, tokens=tokens, cost=cost)
