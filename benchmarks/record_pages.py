"""The command that makes the page and the csv file of a record."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks import options


@click.command("record-page")
@click.argument("record", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", type=options.FILE, help="The page. [default: beside the csv file]")
@click.option("--csv", "table", type=options.FILE, help="Also write the csv file here.")
def measure(record: Path, output: Path | None, table: Path | None) -> None:
    """Make the page of a RECORD: the folder of `record`, or a csv file that it wrote."""
    from benchmarks import record_page, record_table  # import numpy
    from benchmarks.record_store import Store

    rows = (
        record_table.rows(Store(record).read())
        if record.is_dir()
        else record_table.read_csv(record)
    )
    page = output or (record / "record.html" if record.is_dir() else record.with_suffix(".html"))
    if table is None and record.is_dir():
        table = record / "record.csv"
    if table is not None:
        record_table.write_csv(rows, table)
        click.echo(table)
    record_page.write(rows, page)
    click.echo(page)
