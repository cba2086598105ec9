"""`./scripts/release OUT`: builds and checks every channel, and prints how each ended."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from releasing.channels import (
    build_extension,
    build_package,
    build_plugin,
    build_program,
    build_rock,
    check_generated,
    write_entry,
)
from releasing.project import ROOT, Failed, Outcome, Project, attempt, read_project


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds into the given folder. Returns 1 if a channel failed, and with `--all` also if a program is missing; 2 if
    the folder has files in it already."""
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="an empty or new folder for what is built")
    parser.add_argument("--all", action="store_true", help="a missing program is an error")
    given = parser.parse_args(arguments)
    out: Path = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        print(f"{out} is not empty; name a new folder", file=sys.stderr)
        return 2
    outcomes = build_all(read_project(), out)
    for outcome in outcomes:
        print(_line(outcome, out))
    return int(any(outcome.fault and (given.all or not outcome.is_missing) for outcome in outcomes))


def build_all(project: Project, out: Path) -> list[Outcome]:
    """Builds and checks each channel."""
    package = attempt("PyPI", partial(build_package, project, ROOT, out))
    program = attempt("one program", partial(_program, project, package, out))
    packed = program.made[0] if program.made else None
    return [
        attempt("generated files", partial(check_generated, ROOT)),
        package,
        program,
        attempt("VS Code Marketplace, Open VSX", partial(build_extension, project, ROOT, out, packed)),
        attempt("Neovim's plugin", partial(build_plugin, project, ROOT, out)),
        attempt("LuaRocks", partial(build_rock, project, out)),
        attempt("agent registry", partial(write_entry, project, out)),
    ]


def _program(project: Project, package: Outcome, out: Path) -> list[Path]:
    wheels = [path for path in package.made if path.suffix == ".whl"]
    if not wheels:
        raise Failed("there is no wheel to make it of")
    return [build_program(project, wheels[0], out)]


def _line(outcome: Outcome, out: Path) -> str:
    if outcome.is_missing:
        return f"left out  {outcome.channel}: {outcome.fault}"
    if outcome.fault:
        return f"FAILED    {outcome.channel}: {outcome.fault}"
    return f"ready     {outcome.channel}: " + (
        ", ".join(str(path.relative_to(out)) for path in outcome.made) or "as they should be"
    )


if __name__ == "__main__":
    sys.exit(main())
