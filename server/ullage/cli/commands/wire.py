"""`ullage wire`: adds Ullage's hooks to agents' settings."""

from argparse import Namespace

from msgspec.structs import replace

from ullage.agents.wiring import Wiring
from ullage.cli.asked_change import agreed, difference
from ullage.cli.output import Screen
from ullage.cli.own_command import added_by, own_words
from ullage.cli.typed_arguments import WireOptions, read_options
from ullage.cli.wired_agents import named, settings_path
from ullage.model.errors import InputError
from ullage.store.database import default_path
from ullage.system.wired_files import apply, keep_receipt, plan_adding, read_receipt, settings_without
from ullage.wire.added import old_line


def run(args: Namespace) -> int:
    """Shows what would be added, asks unless `--yes` is given, and adds it. Returns 1 if the user declines, otherwise
    0. Raises `InputError` if settings can't be changed, or if there is no terminal to ask on."""
    options, screen = read_options(args, WireOptions), Screen.of(args)
    declined = False
    for agent, wiring in named(options.agents):
        done = _wire(agent.name, wiring, options, screen)
        declined |= not done
    return 1 if declined else 0


def _wire(name: str, wiring: Wiring, options: WireOptions, screen: Screen) -> bool:
    store, path = options.store or default_path(), settings_path(wiring)
    receipt = read_receipt(store, wiring.word)
    if receipt is not None and receipt.path != str(path):
        # The settings of another folder: they are not these.
        receipt = None
    if not path.parent.is_dir():
        raise InputError(f"{name}: there is no folder {path.parent}; start {name} once")
    before = settings_without(path, receipt)
    line = old_line((before or b"").decode(errors="replace")) if options.statusline else None
    change, kept = plan_adding(path, added_by(wiring, options.store, own_words(), line), receipt)
    if change.is_empty:
        screen.print([f"{name}: already there, in {path}"])
    else:
        screen.print(difference(change, screen))
        if not options.yes and not agreed(f"Add this to {name}?"):
            return False
        # The receipt first: what was added can always be taken out.
        keep_receipt(store, wiring.word, replace(kept, agent=name))
        apply(change)
        screen.print(screen.prose(f"Added to {name}. It takes effect in its next session. `ullage unwire` undoes it"))
    if wiring.mcp_command:
        words = " ".join(own_words())
        screen.print(screen.prose(f"For its searches in its own history: {wiring.mcp_command} {words} mcp"))
    return True
