"""Examples at the end of the help of each command, and the page of the guide that explains it."""

from __future__ import annotations

from typing import NamedTuple


class Examples(NamedTuple):
    """Examples of one command, and its page of the guide.

    guide: a page in ``docs/``. lines: commands, each of at most 76 characters.
    """

    guide: str
    lines: tuple[str, ...]

    @property
    def epilog(self) -> str:
        """The end of the help, in click's markup."""
        commands = "\n".join(f"  {line}" for line in self.lines)
        # Under a backspace click joins no lines.
        return f"\b\nExamples:\n{commands}\n\nGuide: docs/{self.guide}"


EXAMPLES = {
    "fit": Examples(
        "first-tree.md",
        (
            "hiertopics fit corpus.ldac",
            "hiertopics fit texts -s data.stop_words=english -s data.min_df=3 --report",
            "hiertopics fit papers.csv --text-field abstract --auto",
            "hiertopics fit corpus.ldac -b hdp-cvb0 -s model.truncation=200 --seed 1",
            'hiertopics fit corpus.ldac -s "model.branches=[6,30]" -o runs/small',
        ),
    ),
    "eval": Examples(
        "evaluation.md",
        (
            "hiertopics eval --heldout",
            "hiertopics eval runs/small --heldout --cache",
            "hiertopics eval runs/small --task hierarchy --paths corpus.paths",
            "hiertopics eval runs/small --corpus new.ldac",
        ),
    ),
    "show-tree": Examples(
        "first-tree.md",
        (
            "hiertopics show-tree",
            "hiertopics show-tree runs/small --depth 2 --words 12",
            "hiertopics show-tree runs/small --supported 0.5",
        ),
    ),
    "topics": Examples(
        "report.md",
        (
            "hiertopics topics",
            "hiertopics topics runs/small 7",
            "hiertopics topics --format csv > topics.csv",
            "hiertopics topics runs/small --by year",
        ),
    ),
    "docs": Examples(
        "first-tree.md",
        (
            "hiertopics docs",
            "hiertopics docs runs/small 7 --top 5",
            "hiertopics docs runs/small --format csv > documents.csv",
        ),
    ),
    "report": Examples(
        "report.md",
        (
            "hiertopics report --open",
            'hiertopics report runs/small -o small.html --title "Our papers"',
            "hiertopics report runs/small runs/other -o both.html",
        ),
    ),
    "label": Examples(
        "report.md",
        (
            'hiertopics label runs/small 3 "strings and bytes" --note "ask Ann"',
            "hiertopics label runs/small --list",
            "hiertopics label runs/small --depth 2 --with ./name-nodes",
        ),
    ),
    "merge": Examples("report.md", ("hiertopics merge runs/small 4 9 -o runs/merged",)),
    "drop": Examples("report.md", ("hiertopics drop runs/small 4 -o runs/tidy",)),
    "edit": Examples(
        "report.md",
        (
            "hiertopics edit runs/small -o runs/edited",
            "hiertopics edit runs/small --edits mine.yaml -o runs/edited",
        ),
    ),
    "shape": Examples(
        "nhdp.md",
        (
            "hiertopics shape runs/small --branches 6,30 -o runs/small-6-30",
            "hiertopics shape runs/small --branches 6,30 --refit -o runs/small-6-30",
        ),
    ),
    "refit": Examples("report.md", ("hiertopics refit runs/small 4 -o runs/below-4",)),
    "update": Examples(
        "updating.md",
        ("hiertopics update runs/last-year this-year.ldac -o runs/both-years",),
    ),
    "import": Examples(
        "importing.md",
        (
            "hiertopics import tree.json --corpus corpus.ldac -o runs/theirs",
            "hiertopics import levels.txt --form levels --corpus corpus.ldac -o runs/sbm",
        ),
    ),
    "infer": Examples(
        "updating.md",
        (
            "hiertopics infer runs/texts new-texts",
            "hiertopics infer runs/texts - < new.txt",
            "hiertopics infer runs/small new.ldac -o placed.csv",
            "hiertopics infer runs/small new.ldac -o theta.npz",
        ),
    ),
    "compare": Examples(
        "evaluation.md",
        (
            "hiertopics compare runs/small runs/other",
            "hiertopics compare runs/small runs/other --task hierarchy",
        ),
    ),
    "agree": Examples("nhdp.md", ("hiertopics agree runs/seed0 runs/seed1 runs/seed2 --write",)),
    "support": Examples(
        "evaluation.md",
        (
            "hiertopics support",
            "hiertopics support runs/small --resamples 10 --null",
            "hiertopics support runs/theirs --against runs/part-00",
        ),
    ),
    "judge": Examples(
        "evaluation.md",
        (
            "hiertopics judge runs/small -o sheet.csv",
            "hiertopics judge --score sheet.csv",
        ),
    ),
    "consensus": Examples(
        "nhdp.md",
        ("hiertopics consensus runs/seed0 runs/seed1 runs/seed2 -o runs/agreed",),
    ),
    "export": Examples(
        "report.md",
        (
            "hiertopics export -o tree.graphml",
            "hiertopics export runs/small -o tree.nwk --depth 2",
            "hiertopics export runs/small -o figure.svg --cut 8,30 --width 85",
        ),
    ),
    "convert": Examples(
        "formats.md",
        (
            "hiertopics convert corpus.ldac corpus.mtx",
            "hiertopics convert papers.jsonl papers.ldac --text-field abstract",
            "hiertopics convert corpus.ldac corpus.shards -s data.min_df=3",
        ),
    ),
    "check": Examples(
        "formats.md",
        (
            "hiertopics check corpus.ldac",
            "hiertopics check papers.csv --text-field abstract",
        ),
    ),
    "config": Examples("backends.md", ("hiertopics config nhdp-variational > my.yaml",)),
    "simulate": Examples(
        "backends.md",
        ("hiertopics simulate hdp-pcvb0 -o drawn.ldac -s model.truncation=10",),
    ),
    "sweep": Examples(
        "batch.md",
        (
            "hiertopics sweep my.yaml --grid model.eta=0.01,0.1 --seeds 0:5 > jobs.txt",
            "hiertopics sweep my.yaml corpus.ldac --grid backend=hdp-cvb0,hdp-gibbs",
        ),
    ),
    "backends": Examples("backends.md", ("hiertopics backends", "hiertopics backends --json")),
    "completion": Examples(
        "installing.md", ("hiertopics completion --install", "hiertopics completion bash")
    ),
}
