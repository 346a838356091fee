"""The man pages in the wheel: hatchling runs this while it builds one."""

from __future__ import annotations

import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface[Any]):
    """Makes the man pages from the help, and adds them as share/man/man1."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the pages to a folder of their own; an editable install has none."""
        if version != "standard":
            return
        sys.path.insert(0, self.root)
        try:
            pages = runpy.run_path(str(Path(self.root, "docs", "build_man.py")))["pages"]()
        finally:
            sys.path.remove(self.root)
        self.folder = Path(tempfile.mkdtemp())
        for name, text in pages.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        build_data["shared_data"][str(self.folder)] = "share/man/man1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version == "standard":
            shutil.rmtree(self.folder)
