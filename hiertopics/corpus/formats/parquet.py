"""Tables as parquet, by pyarrow (extra ``parquet``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from hiertopics.base.errors import DataError, optional

BATCH = 4096
"""Rows that are in memory at a time."""


def require() -> None:
    """Raise UsageError where pyarrow is not installed."""
    _arrow()


def _arrow() -> Any:
    told = "parquet needs pyarrow: pip install 'hiertopics[parquet]'"
    optional("pyarrow.parquet", told)
    return optional("pyarrow", told)


def rows_of(path: Path) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the names of the columns, and the rows, some thousand in memory at a time.

    Raises DataError where the file is no parquet, UsageError where pyarrow is not installed.
    """
    arrow = _arrow()
    with _readable(path, arrow):
        file = arrow.parquet.ParquetFile(path)
        names: list[str] = list(file.schema_arrow.names)
    return names, _rows(path, file, arrow)


def _rows(path: Path, file: Any, arrow: Any) -> Iterator[dict[str, Any]]:
    batches = file.iter_batches(BATCH)
    while True:
        with _readable(path, arrow):
            batch = next(batches, None)
            if batch is None:
                return
            rows = batch.to_pylist()
        yield from rows


@contextmanager
def _readable(path: Path, arrow: Any) -> Iterator[None]:
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError, OverflowError) as error:
        what = "cannot be read as parquet: it is damaged, cut short, or something else"
        raise DataError(path, what) from error


def write(
    file: IO[bytes], blocks: Iterable[Sequence[Mapping[str, Any]]], kinds: Mapping[str, str]
) -> None:
    """Write records, some at a time. kinds: of each column a key of ``_kinds``."""
    arrow = _arrow()
    known = _kinds(arrow)
    schema = arrow.schema([(name, known[kind]) for name, kind in kinds.items()])
    pairs = [name for name, kind in kinds.items() if kind == "shares"]
    with arrow.parquet.ParquetWriter(file, schema) as writer:
        for records in blocks:
            rows: list[dict[str, Any]] = [
                {name: one.get(name) for name in kinds} for one in records
            ]
            for row in rows:
                row |= {name: [{"id": i, "share": part} for i, part in row[name]] for name in pairs}
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))


def _kinds(arrow: Any) -> dict[str, Any]:
    share = arrow.struct([("id", arrow.int64()), ("share", arrow.float64())])
    return {
        "whole": arrow.int64(),
        "number": arrow.float64(),
        "text": arrow.string(),
        "ids": arrow.list_(arrow.int64()),
        "shares": arrow.list_(share),
    }
