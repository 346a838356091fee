"""``hiertopics show-tree``, ``export`` and ``report``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from hiertopics.cli.completing import NODE, RUN
from hiertopics.cli.habits import HintingCommand
from hiertopics.cli.options import (
    arrange_option,
    chosen_run,
    count_option,
    cut_option,
    docs_option,
    going_on,
    is_narrow,
    json_option,
    newest_node,
    note_hidden,
    put,
    put_lines,
    run_argument,
    side_option,
    supported_option,
    tell,
    tell_sentence,
    trust_option,
    words_by_option,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hiertopics.base.visible import Line


@click.command("show-tree", cls=HintingCommand)
@run_argument
@click.argument("node", required=False, type=NODE)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="Number of levels to show, the root's among them: 1 shows the root alone. With --cut: "
    "levels of the cut. Default: all; in text and svg, two below the root for a tree of more than "
    "60 nodes.",
)
@count_option("--words", default=8, help="Top words per node.")
@words_by_option
@click.option(
    "--min-docs",
    type=click.IntRange(min=0),
    help="Hide nodes with fewer documents. Default: 0; in text, 1% of the documents for "
    "large trees; on a terminal, a number that leaves 60 nodes.",
)
@docs_option
@side_option
@arrange_option
@cut_option
@supported_option
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    help="text, json, csv, newick, dot, graphml, html or svg. [default: text]",
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
def show_tree_command(
    run: str | None,
    node: int | None,
    depth: int | None,
    words: int,
    words_by: str | None,
    min_docs: int | None,
    n_docs: int | None,
    sides: tuple[str, ...],
    arrange: bool,
    cut: str | None,
    supported: float | None,
    form: str | None,
    as_json: bool,
) -> int:
    """Show the tree of RUN (default: the newest under runs/), or NODE and all below it.

    Each node has its top words. A flat model is shown as one level of topics, largest first. On a
    terminal the largest branches, by documents times tokens, stand first, and small nodes are left
    out.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other")
    from hiertopics.base.visible import SENTENCE
    from hiertopics.corpus.data.membership import single_root
    from hiertopics.corpus.data.support import support_lacks
    from hiertopics.views.showing import (
        FIRST_LEVELS,
        TreeRequest,
        at_first,
        least_documents,
        readable_command,
        show_tree,
        tree_on_screen,
    )

    run, node = newest_node(run, node)
    target, form = chosen_run(run), "json" if as_json else form or "text"
    asked = (depth, words, words_by, min_docs, n_docs, sides, arrange, cut, supported)
    request = TreeRequest(*asked, node=node)
    shown = at_first(target.tree, request).depth if form in FIRST_LEVELS else depth
    told: list[Line] = []
    if form == "text" and sys.stdout.isatty():
        lines, fewest = tree_on_screen(target, request, is_narrow=is_narrow())
        told = [line for line in lines if line[0].look == SENTENCE]
        put_lines(line for line in lines if line not in told)
    else:
        put(show_tree(target, format=form, **request._asdict()), nl=False)
        fewest = least_documents(target, form, None if supported is not None else shown)
    note_hidden(target)
    if node is not None:
        return 0
    root = single_root(target.tree)
    if depth == 1 and root >= 0 and cut is None:
        n_branches = len(target.tree.children(root))
        tell(f"the root alone is shown; --depth 2 shows the {n_branches} below it")
    levels = int(target.tree.depth[target.tree.shown].max(initial=0)) + 1
    if depth is None and shown is not None and shown < levels:
        tell(f"{shown} of {levels} levels are shown; --depth {levels} shows all")
    if fewest and request.fewest is None:
        what = f"nodes with fewer than {fewest} documents are not shown; --min-docs 0 shows all"
        tell(what)
    put_lines(told)
    if form == "text" and (lacks := support_lacks(target.supported_tree)):
        tell_sentence(f"{lacks}; hiertopics support {target.path} measures it")
    if form == "text" and request == TreeRequest() and (readable := readable_command(target)):
        tell(f"next: {readable}")
    return 0


def _opened(page: Path) -> bool:
    """Open a page in a browser; return whether there was one, which stderr says where not."""
    import webbrowser

    try:
        shown = webbrowser.open(page.absolute().as_uri())
    except webbrowser.Error:
        shown = False
    if not shown:
        tell("note: no browser was found on this machine")
    return shown


@click.command("export", cls=HintingCommand)
@run_argument
@click.option("-o", "--output", required=True, metavar="FILE", help="File for the tree.")
@click.option(
    "--to",
    "--format",
    metavar="FORMAT",
    help="json, csv, newick, dot, graphml, svg (a figure), html (the page of report) or text. "
    "[default: by the suffix of FILE]",
)
@click.option(
    "--words",
    type=click.IntRange(min=1),
    metavar="N",
    help="Top words per node. [default: 10; html: 30]",
)
@words_by_option
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="Number of levels to write, the root's among them. With --cut: levels of the cut. "
    "Default: all; in svg, two below the root for a tree of more than 60 nodes.",
)
@click.option(
    "--width",
    type=click.FloatRange(min=40, max=2000),
    metavar="MM",
    help="svg: width of the figure in millimetres. [default: 170]",
)
@click.option(
    "--min-docs",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Leave out nodes with fewer documents.",
)
@docs_option
@side_option
@arrange_option
@cut_option
@supported_option
@json_option
def export_command(**options: Any) -> int:
    """Write the tree of RUN (default: the newest under runs/) for other tools."""
    from hiertopics.base.files import to_json
    from hiertopics.views.showing import export

    target, as_json = chosen_run(options.pop("run")), options.pop("as_json")
    path = export(target, docs=options.pop("n_docs"), **options)
    note_hidden(target)
    put(to_json({"run": str(target.path), "output": str(path)}) if as_json else str(path))
    return 0


def _refuse_page(*runs: str | None) -> None:
    """Raise UsageError where the file of the page stands in the place of a run."""
    from pathlib import Path

    from hiertopics.base.visible import typed

    named = [run for run in runs if run is not None]
    page = next((run for run in named if run.lower().endswith((".html", ".htm"))), None)
    if page is None or Path(page).is_dir():
        return
    words = ["hiertopics", "report", *(run for run in named if run != page), "-o", page]
    raise click.UsageError(f"{page} is no run; -o names the page: {' '.join(map(typed, words))}")


@click.command("report", cls=HintingCommand)
@trust_option
@click.argument("run", required=False, type=RUN)
@click.argument("run2", required=False, type=RUN)
@click.option(
    "-o", "--output", default="report.html", show_default=True, metavar="FILE", help="The page."
)
@click.option("--json", "json", metavar="FILE", help="Also write the data of the page, as JSON.")
@count_option("--words", default=30, help="Largest number of words per topic, by each order.")
@words_by_option
@click.option(
    "--limit",
    default="5MB",
    show_default=True,
    metavar="SIZE",
    help="Largest page, such as 800kB; the page and stderr name omitted parts.",
)
@click.option("--title", metavar="TEXT", help="Title of the page. [default: the corpus's name]")
@click.option("--no-text", is_flag=True, help="Leave out the words of single documents.")
@click.option("--open", "opens", is_flag=True, help="Also open the page in a browser.")
@cut_option
@supported_option
@side_option
def report_command(
    run: str | None,
    run2: str | None,
    output: str,
    json: str | None,
    words: int,
    words_by: str | None,
    limit: str,
    title: str | None,
    no_text: bool,
    opens: bool,
    cut: str | None,
    supported: float | None,
    sides: tuple[str, ...],
) -> int:
    """Write RUN (default: the newest under runs/) as one page for a browser, without a network.

    With RUN2 the page also shows the topics that both have, and the documents that moved. The page
    is one file that loads nothing.
    """
    _refuse_page(run, run2)
    from hiertopics.runs.rundir import RunDir
    from hiertopics.views.report.packing import size_told
    from hiertopics.views.report.writing import report

    target = chosen_run(run)
    other = None if run2 is None else RunDir.open(run2)
    with going_on("making the page"):
        made = report(
            target,
            other,
            output,
            json=json,
            words=words,
            words_by=words_by,
            limit=limit,
            text=not no_text,
            sides=sides,
            cut=cut,
            supported=supported,
            title=title,
        )
    for line in made.left_out:
        tell(f"note: {line}")
    shown = opens and _opened(made.path)
    tell(size_told(made.n_bytes) + ("" if shown else "; open it in any browser"))
    put(str(made.path))
    return 0
