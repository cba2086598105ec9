"""Neovim's plugin as an archive of its own, for LuaRocks: there the plugin's folders are at the top."""

import gzip
import io
import tarfile
from pathlib import Path

from releasing.project import Project

# What Neovim loads. The tests stay in the repository.
_FOLDERS = ("doc", "lsp", "lua", "plugin")


def build_plugin(project: Project, root: Path, out: Path) -> list[Path]:
    """Packs the plugin. The same files make the same bytes, so that the archive's hash can be checked. Returns the
    archive."""
    folder = root / "editors" / "nvim"
    files = [file for name in _FOLDERS for file in sorted((folder / name).rglob("*")) if file.is_file()]
    top = f"{project.name}.nvim-{project.version}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in [*files, root / "LICENSE"]:
            path = file.name if file.parent == root else file.relative_to(folder).as_posix()
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size = file.stat().st_size
            archive.addfile(entry, io.BytesIO(file.read_bytes()))
    made = out / f"{top}.tar.gz"
    made.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return [made]
