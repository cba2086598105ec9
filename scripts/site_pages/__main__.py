"""`./scripts/docs OUT`: makes the documentation site in a folder."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.project import ROOT, read_project
from site_pages.pages import Site, stage

# What Sphinx reads. Pages name headings of other pages as GitHub does.
_SETTINGS = {
    "extensions": ["myst_parser"],
    "myst_heading_anchors": 4,
    "html_theme": "furo",
    "html_copy_source": False,
    "html_show_sphinx": False,
    # The licence is named in the README.
    "html_show_copyright": False,
    # Examples of the protocol leave parts out, so they are not always JSON.
    "suppress_warnings": ["misc.highlighting_failure"],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the site in the given folder, whose files are replaced. Returns Sphinx' exit status: not 0 if a link or a
    heading that a page names is not there."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of the site")
    out: Path = parser.parse_args(arguments).out.resolve()
    project = read_project()
    with TemporaryDirectory(prefix="ullage-docs-") as folder:
        stage(Site(ROOT, Path(folder) / "pages", project.repository))
        settings = {**_SETTINGS, "project": project.name.capitalize(), "html_title": project.name.capitalize()}
        lines = [f"{name} = {value!r}" for name, value in settings.items()]
        (Path(folder) / "conf.py").write_text("\n".join(lines), encoding="utf-8")
        words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-c", folder, "-d", f"{folder}/read"]
        return subprocess.run([sys.executable, *words, f"{folder}/pages", str(out)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
