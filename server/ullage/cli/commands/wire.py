"""`ullage wire`: adds Ullage's hooks to agents' settings."""

from argparse import Namespace
from functools import partial

from ullage.app.agent_wiring import AgentWiring, known_words
from ullage.cli.asked_change import agreed, difference, possible, raise_failed, same_now
from ullage.cli.output import Screen
from ullage.cli.typed_arguments import WireOptions, read_options
from ullage.model.errors import InputError


def run(args: Namespace) -> int:
    """Shows what would be added, asks unless `--yes` is given, and adds it. Returns 1 if the user declines, otherwise
    0. Raises `InputError` if no agent is there, settings can't be changed, or there is no terminal to ask on."""
    options, screen = read_options(args, WireOptions), Screen.of(args)
    wiring, declined = AgentWiring(options.store), False
    plan = partial(wiring.add, status_line=options.statusline, fill_notes=options.fill_notes, mcp_server=options.mcp)
    changes = plan(options.agents)
    if not changes:
        raise InputError(f"no agent is here that Ullage can be added to; known: {', '.join(known_words())}")
    for change in possible(changes):
        if change.files:
            for file in change.files:
                screen.print(difference(file, screen))
            if not options.yes and not agreed(f"Add this to {change.agent}?"):
                declined = True
                continue
            wiring.make(same_now(change, plan([change.word])))
            screen.print(screen.prose(f"Added to {change.agent}. `ullage unwire` undoes it."))
        else:
            screen.print([f"{change.agent}: already there, in {change.path}"])
        for note in change.notes:
            screen.print(screen.prose(note))
    raise_failed(changes)
    return 1 if declined else 0
