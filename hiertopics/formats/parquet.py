"""Tables as parquet, by pyarrow (extra ``parquet``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from hiertopics.errors import DataError, UsageError


def require() -> None:
    """Raise UsageError where pyarrow is not installed."""
    _arrow()


def _arrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("parquet needs pyarrow: pip install 'hiertopics[parquet]'") from error
    return pyarrow


def column(path: Path, name: str) -> list[Any]:
    """Return a column; DataError where the file is no parquet or has no such column."""
    arrow = _arrow()
    try:
        table = arrow.parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        what = f"cannot be read as parquet ({str(error).splitlines()[0]})"
        raise DataError(path, what) from error
    if name not in table.column_names:
        raise DataError(path, f"no field {name!r}; there are {', '.join(table.column_names)}")
    values: list[Any] = table[name].to_pylist()
    return values


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
