"""`ullage hook` with an option before the command's name. Without one, `main` runs it before anything else is
imported."""

from argparse import Namespace

from ullage.cli.hooks.run_hook import run as run_words


def run(args: Namespace) -> int:
    """Answers the hook. Returns 0."""
    store = ["--store", str(args.store)] if args.store else []
    return run_words([args.agent, *store, *(["--fill-notes"] if args.fill_notes else [])]) or 0
