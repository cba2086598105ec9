"""`ullage unwire`: takes Ullage out of agents' settings."""

from argparse import Namespace

from ullage.app.agent_wiring import AgentWiring
from ullage.cli.asked_change import agreed, difference, possible, raise_failed, same_now
from ullage.cli.output import Screen
from ullage.cli.typed_arguments import UnwireOptions, read_options


def run(args: Namespace) -> int:
    """Shows what would be taken out, asks unless `--yes` is given, and does it. Returns 1 if the user declines,
    otherwise 0. Raises `InputError` if settings can't be changed, or if there is no terminal to ask on."""
    options, screen = read_options(args, UnwireOptions), Screen.of(args)
    wiring, declined = AgentWiring(options.store), False
    changes = wiring.take_out(options.agents)
    for change in possible(changes):
        if not change.is_wired:
            screen.print([f"{change.agent}: nothing was added"])
            continue
        for file in change.files:
            screen.print(difference(file, screen))
        if change.files and not options.yes and not agreed(f"Take this out of {change.agent}?"):
            declined = True
            continue
        wiring.make(same_now(change, wiring.take_out([change.word])))
        screen.print(screen.prose(" ".join([f"Taken out of {change.agent}.", *change.notes])))
    raise_failed(changes)
    return 1 if declined else 0
