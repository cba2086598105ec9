"""`ullage statusline` with an option before the command's name. Without one, `main` runs it before anything else is
imported."""

from argparse import Namespace

from ullage.cli.statusline.print_line import run as run_words


def run(args: Namespace) -> int:
    """Prints the line. Returns 0."""
    given = {"--store": args.store, "--pid": args.pid, "--cwd": args.cwd, "--width": args.width, "--color": args.color}
    words = [f"{name}={value}" for name, value in given.items() if value is not None]
    words += [f"--{name}" for name in ("tmux", "plain", "quiet", "ascii") if getattr(args, name)]
    return run_words([*words, "--", *args.command] if args.command else words) or 0
