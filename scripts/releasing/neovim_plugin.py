"""Neovim's plugin as a tree of its own, with its folders at the top, where plugin managers and LuaRocks look."""

import gzip
import io
import shutil
import tarfile
from pathlib import Path

from releasing.project import Project

# What Neovim loads, and what a visitor of the repository reads. The tests stay in this repository.
_PARTS = ("doc", "lsp", "lua", "plugin", "README.md")


def build_plugin(project: Project, root: Path, out: Path) -> list[Path]:
    """Makes the tree `NAME.nvim`, which `scripts/mirror_nvim` commits to the plugin's own repository, and packs it for
    LuaRocks. The same files make the same bytes, so that the archive's hash can be checked. Returns the tree and the
    archive."""
    tree = out / f"{project.name}.nvim"
    tree.mkdir()
    for part in _PARTS:
        source = root / "editors" / "nvim" / part
        if source.is_dir():
            shutil.copytree(source, tree / part)
        else:
            shutil.copy(source, tree)
    shutil.copy(root / "LICENSE", tree)
    top = f"{tree.name}-{project.version}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(file for file in tree.rglob("*") if file.is_file()):
            entry = tarfile.TarInfo(f"{top}/{file.relative_to(tree).as_posix()}")
            entry.size = file.stat().st_size
            archive.addfile(entry, io.BytesIO(file.read_bytes()))
    made = out / f"{top}.tar.gz"
    made.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return [tree, made]
