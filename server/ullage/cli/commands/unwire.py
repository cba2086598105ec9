"""`ullage unwire`: takes Ullage out of agents' settings."""

from argparse import Namespace

from ullage.cli.asked_change import agreed, difference
from ullage.cli.output import Screen
from ullage.cli.typed_arguments import UnwireOptions, read_options
from ullage.cli.wired_agents import all_known, named
from ullage.store.database import default_path
from ullage.system.wired_files import apply, keep_receipt, plan_removing, read_receipt


def run(args: Namespace) -> int:
    """Shows what would be taken out, asks unless `--yes` is given, and does it. Returns 1 if the user declines,
    otherwise 0. Raises `InputError` if settings can't be changed, or if there is no terminal to ask on."""
    options, screen = read_options(args, UnwireOptions), Screen.of(args)
    store, declined = options.store or default_path(), False
    for agent, wiring in named(options.agents) if options.agents else all_known():
        receipt = read_receipt(store, wiring.word)
        if receipt is None:
            screen.print([f"{agent.name}: nothing was added"])
            continue
        change = plan_removing(receipt)
        if not change.is_empty:
            screen.print(difference(change, screen))
            if not options.yes and not agreed(f"Take this out of {agent.name}?"):
                declined = True
                continue
            apply(change)
        keep_receipt(store, wiring.word, None)
        same = " The file is as it was before" if change.after == receipt.before else ""
        screen.print([f"Taken out of {agent.name}.{same}"])
    return 1 if declined else 0
