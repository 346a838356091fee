"""What every benchmark is: a command that yields records, and the table they are printed as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from benchmarks import records, report
from benchmarks.options import FILE, Function
from benchmarks.table import MakeTable


class Benchmark(click.Command):
    """A command whose function returns records, which are kept one by one, as they come.

    The function finds the output file, or None, as the object of the click context.
    """

    def __init__(
        self, name: str, *, table: MakeTable, params: list[click.Parameter], **attributes: Any
    ) -> None:
        """Take ``-o`` beside the command's own options."""
        text = "Append the results to this file."
        output = click.Option(["-o", "--output"], type=FILE, help=text)
        super().__init__(name, params=[output, *params], **attributes)
        self.benchmark, self.table = name, table

    def invoke(self, ctx: click.Context) -> None:
        """Measure, keep each record, then print the table of all."""
        ctx.obj = ctx.params.pop("output")
        results = super().invoke(ctx)
        done = [records.append(ctx.obj, self.benchmark, result) for result in results]
        click.echo(report.render(done, {self.benchmark: self.table}))


def benchmark(name: str, table: MakeTable) -> Callable[[Function], Benchmark]:
    """Return a decorator that makes a function, under its click options, the command ``name``."""
    return click.command(name, cls=Benchmark, table=table)
