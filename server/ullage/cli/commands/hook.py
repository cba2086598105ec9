"""`ullage hook` with an option before the command's name. Without one, `main` runs it before anything else is
imported."""

from argparse import Namespace

from ullage.cli.hooks.run_hook import run as run_words


def run(args: Namespace) -> int:
    """Answers the hook. Returns 0."""
    chosen = (("--store", args.store), ("--mark", args.mark), ("--unless-wired-in", args.unless_wired_in))
    words = [text for name, value in chosen if value for text in (name, str(value))]
    return run_words([args.agent, *words, *(["--fill-notes"] if args.fill_notes else [])]) or 0
