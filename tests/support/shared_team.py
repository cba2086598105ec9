"""A team's archive for tests in other languages: `python -m support.shared_team` makes a server with it, prints one
JSON line about it, and keeps it until its input ends. Prints nothing where PostgreSQL's server is not installed."""

import json
import sys
import tempfile
from pathlib import Path

from support.command_line import ullage
from support.postgres_server import programs, running_server
from support.team import make_team, said
from ullage.model.message import Role

# Longer than a hit of the search shows.
_LONG = """The proxy needs **port 8443**: nginx on staging answers 502 on every other one.

```yaml
services:
  proxy:
    ports: ["8443:8443"]
```

What I checked, in order:

""" + "\n".join(
    f"{number}. Host `staging-{number}` answers on 8443, and not on {8000 + number}." for number in range(1, 61)
)


def _share(folder: Path) -> None:
    with running_server("fsync=off") as server:
        team = make_team(server, folder, plain=True)
        anna = team.anna
        anna.keep(
            "proxy",
            "/srv/weather",
            said("m1", "Which port does the proxy need on staging?"),
            said("m2", _LONG, Role.ASSISTANT),
            title="Deploy of the proxy",
        )
        anna.keep(
            "untitled", "/srv/weather/gateway", said("m1", "Is the <b>proxy</b> $(zap) up?\nIt was not this morning.")
        )
        share = ("team", "share", "/srv/weather", "--archive", anna.archive, "--with", team.boris.role)
        assert ullage(*share, env=anna.env).status == 0
        sys.stdout.write(f"{json.dumps({'archive': team.boris.archive, 'owner': anna.role})}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__" and programs() is not None:
    with tempfile.TemporaryDirectory(prefix="ullage-team-") as made:
        _share(Path(made))
