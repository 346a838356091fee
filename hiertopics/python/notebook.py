"""The page of a run in the cell of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.rundir import RunDir
from hiertopics.views.report.gathering import ReportRequest
from hiertopics.views.report.packing import DEFAULT_LIMIT, parse_size
from hiertopics.views.report.writing import WORDS, made_page

HEIGHT = 800
"""Height of the cell, in pixels."""


@dataclass(frozen=True)
class RunPage:
    """A page in a notebook: in a separate frame, apart from the notebook's styles.

    html: the whole file, as ``report`` writes it. height: of the frame, in pixels.
    """

    html: str = field(repr=False)
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="topics" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


@trusts
def show(
    self: RunDir,
    *,
    height: int = HEIGHT,
    words: int = WORDS,
    words_by: str | None = None,
    limit: str = DEFAULT_LIMIT,
    text: bool = True,
    sides: Sequence[str] = (),
    cut: str | None = None,
    supported: float | None = None,
    title: str | None = None,
    trust_tokenizer: bool = False,
) -> RunPage:
    """Return the page of this run; a notebook shows it in the cell.

    height: of the cell, in pixels. The others are those of ``report``. Nothing is written. Raises
    UsageError, DataError or RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    request = ReportRequest(
        words, parse_size(limit), text, tuple(sides), cut, supported, words_by, title
    )
    return RunPage(made_page(self, None, request)[0], height)
