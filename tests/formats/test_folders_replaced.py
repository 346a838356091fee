"""A folder that replaces another: whenever a kill comes, the old one or the new one is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hiertopics.base.errors import RunError
from hiertopics.corpus.formats import folders
from hiertopics.corpus.formats.folders import new_folder

CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir")


def written(path: Path, text: str) -> None:
    with new_folder(path) as folder:
        (folder / "text").write_text(text)
        (folder / "more").write_text(text)


def killed_before(change: int, path: Path) -> bool:
    """Replace a folder in a process that dies before its n-th change; tell whether it died."""
    pid = os.fork()
    if pid == 0:
        left = [change]

        def count(event: str, _: object) -> None:
            if event in CHANGES:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(1)

        try:
            sys.addaudithook(count)
            written(path, "new")
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1] != 0


def held(path: Path) -> set[str]:
    return {file.read_text() for file in path.iterdir()}


@contextmanager
def system(exchanges: bool) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        if not exchanges:
            patch.setattr(folders, "_exchanged", lambda one, other: False)
        yield patch


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_kill_leaves_the_old_folder_or_the_new_one(tmp_path: Path, exchanges: bool) -> None:
    change, died, met = 0, True, set()
    while died:
        path = tmp_path / f"{change}" / "a[1].shards"
        path.parent.mkdir()
        written(path, "old")
        with system(exchanges):
            died = killed_before(change, path)
            if exchanges:
                assert held(path) in ({"old"}, {"new"})
            # The next writer, which may find a full disk, has it back before it writes.
            with pytest.raises(RunError, match="full"), new_folder(path):
                met |= held(path)
                raise OSError(28, "full")
        assert [file.name for file in path.parent.iterdir()] == [path.name]
        change += 1
    assert met == {"old", "new"} and change >= 5


def test_names_are_exchanged_where_the_system_can(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "two"
    for path in (one, other):
        path.mkdir()
        (path / "text").write_text(path.name)
    if not folders._exchanged(one, other):
        pytest.skip("this file system exchanges no names")
    assert (held(one), held(other)) == ({"two"}, {"one"})
    assert not folders._exchanged(one, tmp_path / "none")


def test_what_another_folder_has_put_aside_stays(tmp_path: Path) -> None:
    """Its name begins like that of the folder that is written."""
    aside = tmp_path / ".a.shards.b.shards.01234567.partial.old"
    aside.mkdir()
    written(tmp_path / "a.shards", "new")
    assert aside.exists() and held(tmp_path / "a.shards") == {"new"}


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path, exchanges: bool) -> None:
    written(tmp_path / "real", "old")
    path = tmp_path / "a.shards"
    path.symlink_to("real")
    with system(exchanges):
        written(path, "new")
    assert held(path) == {"new"} and not path.is_symlink()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.shards", "real"]
    assert held(tmp_path / "real") == {"old"}
