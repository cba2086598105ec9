"""An agent that says again what another has said: `python replay_agent.py TRACE`, one `[mark, line]` in JSON a line.

It waits for each line of the client (`<`) before it goes on with what was said then (`>`), and ends with status 9 if a
client's line is not, byte for byte, the one it was.
"""

import json
import sys
from pathlib import Path


def main() -> int:
    for entry in Path(sys.argv[1]).read_text("utf-8").splitlines():
        mark, line = json.loads(entry)
        data = line.encode()
        if mark == ">":
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif sys.stdin.buffer.readline() != data:
            return 9
    return 0 if sys.stdin.buffer.read() == b"" else 9


if __name__ == "__main__":
    sys.exit(main())
