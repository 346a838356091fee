"""``hiertopics report``."""

from __future__ import annotations

import click

from hiertopics.cli.options import (
    chosen_run,
    count_option,
    cut_option,
    put,
    side_option,
    tell,
    trust_option,
)


@click.command("report")
@trust_option
@click.argument("run", required=False, type=click.Path())
@click.argument("run2", required=False, type=click.Path())
@click.option(
    "-o", "--output", default="report.html", show_default=True, metavar="FILE", help="The page."
)
@click.option("--json", "json", metavar="FILE", help="Also write the data of the page, as JSON.")
@count_option("--words", default=30, help="Most words per topic, by each order.")
@click.option(
    "--limit",
    default="5MB",
    show_default=True,
    metavar="SIZE",
    help="Largest page, such as 800kB; what is left out for it is said.",
)
@click.option("--no-text", is_flag=True, help="Leave out the words of single documents.")
@cut_option
@side_option
def report_command(
    run: str | None,
    run2: str | None,
    output: str,
    json: str | None,
    words: int,
    limit: str,
    no_text: bool,
    cut: str | None,
    sides: tuple[str, ...],
) -> int:
    """Write RUN (default: the newest under runs/) as one page for a browser, without a network.

    With RUN2 the page also shows which topics both have, and what moved. The page is one file that
    loads nothing.
    """
    from hiertopics.runs.rundir import RunDir
    from hiertopics.views.report.packing import size_told
    from hiertopics.views.report.writing import report

    target = chosen_run(run)
    other = None if run2 is None else RunDir.open(run2)
    made = report(
        target,
        other,
        output,
        json=json,
        words=words,
        limit=limit,
        text=not no_text,
        sides=sides,
        cut=cut,
    )
    for line in made.left_out:
        tell(f"note: {line}")
    tell(f"{size_told(made.n_bytes)}; open it in any browser")
    put(str(made.path))
    return 0
