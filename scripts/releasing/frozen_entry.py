"""The start of the server as one program. Ullage starts parts of itself as `sys.executable -P -m MODULE`: in the
program that is the program, which therefore reads these options as Python does."""

import runpy
import sys

from ullage.cli.main import main


def start(words: list[str]) -> int:
    """Runs the module or the code that Python's own options name, or else a command of Ullage's."""
    options = [word for word in words[:2] if word in ("-P", "-I", "-m", "-c")]
    if options and options[-1] in ("-m", "-c") and len(words) > len(options):
        rest = words[len(options) :]
        sys.argv = ["-c" if options[-1] == "-c" else rest[0], *rest[1:]]
        if options[-1] == "-c":
            exec(rest[0], {"__name__": "__main__"})
        else:
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return 0
    return main()


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
