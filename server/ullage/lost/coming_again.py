"""Losses that an agent probably gives itself back: it attaches files again after a compaction."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ullage.lost.carried import Carried
from ullage.lost.handed_over import summary_message
from ullage.lost.knowledge import lighter
from ullage.lost.loss import Loss, ranked
from ullage.survive.fact import Kind

# Whether a file comes is not certain, so a loss of it has the room that all others leave, and no more.
_PROBABLY_THERE = 0.02


def put_last(losses: Sequence[Loss], attached: Mapping[str, str]) -> tuple[Loss, ...]:
    """Returns the losses with hardly any weight for what is in files that the agent probably attaches again: their
    paths, and names in their texts. `attached` maps each path to the file's text, "" if only its name comes. What the
    user demanded, what was decided and what failed keeps its weight: a file says no more than a name of it."""
    return ranked(list(_weighed(losses, attached))) if attached else tuple(losses)


def _weighed(losses: Sequence[Loss], attached: Mapping[str, str]) -> Iterator[Loss]:
    comes = Carried([summary_message("\n".join([*attached, *attached.values()]))])
    for loss in losses:
        if loss.path in attached:
            yield lighter(loss, _PROBABLY_THERE)
        elif loss.kind is Kind.NAME and loss.name_weights:
            there = list(map(comes.holds_name, loss.names))
            weights = tuple(
                weight * (_PROBABLY_THERE if held else 1) for weight, held in zip(loss.name_weights, there, strict=True)
            )
            less = sum(loss.name_weights) - sum(weights)
            yield replace(loss, name_weights=weights, weight=loss.weight - less) if less else loss
        else:
            yield loss
