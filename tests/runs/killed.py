"""Fits that are killed after their first, second, ... rename: ``killed_fits`` leaves a run of each.

As a program (of its own, so that forked children have no threads): a JSON object on stdin.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def killed_fits(folder: Path, template: Path | None, **asked: Any) -> list[Path]:
    """Return runs whose fit was killed after its n-th rename, n = 1, 2, ...

    template: what each run is before its fit; None: nothing. asked: arguments of ``fit`` that
    JSON can hold.
    """
    given = {"folder": str(folder), "template": template and str(template), "asked": asked}
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(given), stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0
    return [folder / name for name in done.stdout.split()]


def die_after(n_renames: int) -> None:
    """Let this process kill itself right after its ``n_renames``-th rename."""
    replace, left = os.replace, [n_renames]

    def renaming(source: Any, target: Any) -> None:
        replace(source, target)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = renaming  # type: ignore[assignment]


def main() -> None:
    """Fit once whole, which imports and compiles; then kill until a fit comes to its end."""
    from hiertopics.fitting.driver import fit

    given = json.load(sys.stdin)
    folder, asked = Path(given["folder"]), given["asked"]
    names: Sequence[str] = ["whole", *map(str, range(1, 1000))]
    for n, name in enumerate(names):
        run = folder / name
        if given["template"]:
            shutil.copytree(given["template"], run)
        child = os.fork() if n else 0
        if child:
            if os.WIFEXITED(os.waitpid(child, 0)[1]):
                return
            print(name, flush=True)
            continue
        if n:
            die_after(n)
        fit(run=run, **asked)
        if n:
            os._exit(0)


if __name__ == "__main__":
    main()
