"""The configuration of an experiment: strict, complete, and traceable to where it was made.

A backend declares its part as two msgspec structs, ``Model`` and ``Inference``::

    class Model(msgspec.Struct, frozen=True, kw_only=True):
        gamma: Annotated[float, Meta(gt=0, description="Concentration of the top level.")] = 1.0

    class Inference(InferenceConfig, frozen=True, kw_only=True):
        iterations: Iterations = 500
        shuffle: Annotated[bool, Meta(description="Visit documents in random order.")] = False

Every field has a default, a sentence that explains it and, where needed, bounds. No template shows
a field whose ``Meta`` has ``extra_json_schema=UNOFFERED``. The type of a field is one of ``int,
float, bool, str, Literal, X | None`` (bounds go inside: ``Annotated[float, Meta(gt=0)] | None``),
or ``S | None`` with a struct S of such fields, which a mapping fills. A check across fields is a
``__post_init__`` that raises ``base.errors.FieldError`` with the field that is wrong, or ValueError
where no one field is.

Importing this module stays cheap, so that ``config`` and ``backends`` answer at once.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, structs

from hiertopics.base.errors import ConfigError, FieldError
from hiertopics.settings.fields import (
    NUMBER_AS_TEXT,
    UNOFFERED as UNOFFERED,
    description,
    expectation,
    nested,
    offered,
)
from hiertopics.settings.former import Translation
from hiertopics.settings.layers import Layers, Reader
from hiertopics.settings.yamlfile import dump_yaml

Iterations = Annotated[
    int,
    Meta(ge=0, description="Total number of iterations; a larger number extends a finished run."),
]
"""The type of ``iterations``, for backends that give it another default."""

IdleTolerance = Annotated[
    float,
    Meta(
        ge=0,
        description="Stop when the relative change of the log joint between two recordings is "
        "below this number; 0: never. A log joint that stands still tells nothing of a sampler.",
        extra_json_schema=UNOFFERED,
    ),
]
"""The type of ``tolerance``, for backends that do not climb an objective."""

IdleShards = Annotated[
    int,
    Meta(ge=1, description="This backend has no use for shards.", extra_json_schema=UNOFFERED),
]
"""The type of ``shards``, for backends that do not sweep the corpus in parts."""

STARTS = {
    "random": "at random, or nearly equal topics",
    "gibbs": "the draw of a short run of a Gibbs sampler",
    "variational": "a short run of a variational method",
    "clusters": "a tree of clusters of documents or rows",
    "words": "topics from clusters of words by context",
    "branches": "few branches from few topics",
    "groups": "few branches by factorisations of the corpus, topics within them, and groups",
    "sequential": "documents or data that are placed one by one",
    "separate": "a path for each document",
    "overcomplete": "more random paths than are needed",
    "root": "the root alone",
    "prior": "a draw from the prior",
    "axes": "one path of principal axes",
    "residuals": "clusters of residuals, level by level",
}
"""The words that ``inference.start`` may have, the same in all backends."""


class Discretise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the columns of dense rows are cut into bins."""

    method: Annotated[
        Literal["quantile", "uniform"],
        Meta(description="quantile: bins with equally many rows; uniform: bins of equal width."),
    ] = "quantile"
    bins: Annotated[
        int,
        Meta(
            ge=2, le=1000, description="Number of bins per column; fewer where values are repeated."
        ),
    ] = 5


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The choice of pairs of neighbours that become one word."""

    npmi: Annotated[
        float,
        Meta(
            ge=-1,
            le=1,
            description="Smallest normalised pointwise mutual information of a phrase.",
        ),
    ] = 0.5
    min_count: Annotated[
        int, Meta(ge=1, description="Smallest number of occurrences of a phrase in the texts.")
    ] = 10
    over_stop_words: Annotated[
        bool,
        Meta(
            description="Also join words that have only stop words or single letters between them, "
            "as bank_england of bank of England; false: only words that stand side by side."
        ),
    ] = False


SUFFIX_LIST = r"(?: *\.[^\s,;/*?]+ *)(?:, *\.[^\s,;/*?]+ *)*"
"""Suffixes of files, separated by commas: a regular expression."""

HELD = (
    "Hyperparameters that are not learned, but held at their values in the config; [] learns all."
)
"""The description of ``hold`` in every backend that has it."""

Summarise = Annotated[
    Literal["map", "last"],
    Meta(
        description="Draw that becomes the model. map: the most probable draw after burn_in; last: "
        "the last draw. With several chains, the draw of the chain in which it is most probable."
    ),
]
"""The type of ``summarise``, for samplers that give it another default."""


class DataConfig(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"from_": "from"}
):
    """The input and its split; raises ValueError if entries make no sense."""

    corpus: Annotated[str | None, Meta(description="Corpus file or folder.")] = None
    from_: Annotated[
        str | None, Meta(description="Format of the corpus; null: known by its suffix.")
    ] = None
    vocab: Annotated[
        str | None, Meta(description="Vocabulary file; null: a sibling of the corpus, if any.")
    ] = None
    groups: Annotated[
        str | None, Meta(description="Groups file; null: a sibling of the corpus, if any.")
    ] = None
    labels: Annotated[
        str | None, Meta(description="Labels file; null: a sibling of the corpus, if any.")
    ] = None
    holdout: Annotated[
        str,
        Meta(
            description="The held-out part, @ the seed of the split: docs:0.1@0, tokens:0.2@0, "
            "fold:2/5@0, train:1200@0, links:0.2@0[,drop] or none."
        ),
    ] = "docs:0.1@0"
    min_df: Annotated[
        int | float,
        Meta(
            description="Drop words that fewer documents contain. A whole number is a number of "
            "documents, a number with a point (0.01) a share of all documents."
        ),
    ] = 1
    max_df: Annotated[
        int | float,
        Meta(
            description="Drop words that more documents contain, given as for min_df; 1.0 keeps "
            "every word.",
            examples=["0.9", "90%"],
        ),
    ] = 1.0
    max_words: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Largest vocabulary: after min_df and max_df, keep the words that most "
            "documents contain; null: no limit."
        ),
    ] = None
    stop_words: Annotated[
        str | None,
        Meta(
            description="Words to drop: a language, or a file with one per line. Several of them "
            "are separated by commas: polish,english.",
            examples=["polish,english"],
        ),
    ] = None
    stop_rests: Annotated[
        bool,
        Meta(
            description="With stop_words of a language: also drop what cutting at apostrophes "
            "leaves of its contractions, as don of don't."
        ),
    ] = True
    repeat_cap: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Largest count of a word in a document. Larger counts are read as this "
            "number, in held-out and new documents, too; null: no limit."
        ),
    ] = None
    vocabulary_from: Annotated[
        Literal["all", "training"],
        Meta(
            description="Documents that determine the vocabulary, the counts for min_df and "
            "max_df, and the bins of discretise: all documents, or the training documents alone, "
            "so that no held-out document is used."
        ),
    ] = "all"
    text_field: Annotated[
        str | None,
        Meta(description="Raw text: the field or column with the text.", extra=NUMBER_AS_TEXT),
    ] = None
    id_field: Annotated[
        str | None,
        Meta(
            description="Raw text: the field or column with the document's name. null: an id, a "
            "name, or a field whose values are unique.",
            extra=NUMBER_AS_TEXT,
        ),
    ] = None
    group_field: Annotated[
        str | None,
        Meta(
            description="Raw text: the field or column with the document's groups.",
            extra=NUMBER_AS_TEXT,
        ),
    ] = None
    label_field: Annotated[
        str | None,
        Meta(
            description="Raw text: the field or column with the document's labels.",
            extra=NUMBER_AS_TEXT,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        Meta(
            description="csv files: the character between columns, such as ';', or tab; null: a "
            "comma."
        ),
    ] = None
    quoting: Annotated[
        Literal["double", "none"],
        Meta(
            description="csv files: double: a cell in double quotes may contain delimiters, line "
            "ends and doubled quotes; none: a quote is a character like others."
        ),
    ] = "double"
    encoding: Annotated[
        str | None,
        Meta(
            description="Raw text: the encoding of the file, such as cp1252; null: UTF-8. Several "
            "encodings, separated by commas (utf-8,cp1252), are tried in order on each line."
        ),
    ] = None
    suffixes: Annotated[
        str | None,
        Meta(
            description="Folders of texts: suffixes of the files that are read, separated by "
            "commas (.txt,.rst). null: .txt; if no file has it, .html, .htm, .md and .rst."
        ),
    ] = None
    html: Annotated[
        Literal["all", "main"],
        Meta(
            description="Folders of .html files: read all text of a page, or its main part alone, "
            "without navigation, side bars and footer."
        ),
    ] = "all"
    html_dialogs: Annotated[
        bool,
        Meta(
            description="Main parts of .html files (data.html=main): also read dialogs and "
            "pop-ups, such as help on keys."
        ),
    ] = False
    markup: Annotated[
        Literal["all", "text"],
        Meta(
            description="Folders of .md and .rst files: read all of a file, or its text alone, "
            "without names of directives and roles, addresses of links and comments."
        ),
    ] = "all"
    lowercase: Annotated[bool, Meta(description="Raw text: convert all letters to lower case.")] = (
        True
    )
    token_pattern: Annotated[
        str | None,
        Meta(
            description="Raw text: regular expression that matches a word; null: two or more "
            "letters, digits or _."
        ),
    ] = None
    ngram_range: Annotated[
        tuple[Annotated[int, Meta(ge=1)], ...],
        Meta(
            description="Raw text: smallest and largest n of the n-grams that are counted as "
            "words, such as [1, 2].",
            examples=["[1,2]"],
        ),
    ] = (1, 1)
    stemmer: Annotated[
        str | None,
        Meta(
            description="Raw text: replace words by their stems, by the rules of this language; "
            "null: no stemming.",
            examples=["english"],
        ),
    ] = None
    lemmas: Annotated[
        str | None,
        Meta(
            description="Raw text: replace words by their lemmas (mice by mouse), by the "
            "dictionary of this language; null: no lemmas.",
            examples=["english"],
        ),
    ] = None
    stop_lemmas: Annotated[
        bool,
        Meta(
            description="Raw text: also drop words whose lemma is a stop word, as having with have."
        ),
    ] = True
    phrases: Annotated[
        Phrases | None,
        Meta(
            description="Raw text: join pairs of neighbouring words that form a phrase into one "
            "word a_b; null: no phrases. Stop words are removed before words are stemmed, "
            "lemmatised, joined or counted as n-grams.",
            examples=["{npmi: 0.3, min_count: 5}"],
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        Meta(
            description="Raw text: module:function that returns the list of words of a text; it "
            "replaces token_pattern and lowercase."
        ),
    ] = None
    letterless: Annotated[
        bool,
        Meta(
            description="Raw text: keep words without a letter that data.tokenizer returns: "
            "punctuation and numbers."
        ),
    ] = False
    snippets: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Raw text: number of characters of each document that the run keeps as a "
            "snippet; 0: none.",
        ),
    ] = 160
    metadata: Annotated[
        bool,
        Meta(
            description="Raw text: keep the other fields of the documents, such as years, in the "
            "run; fields with long values are left out."
        ),
    ] = True
    label_column: Annotated[
        str | None,
        Meta(
            description="Dense tables: the column of classes, by name or number; -1: the last.",
            extra=NUMBER_AS_TEXT,
        ),
    ] = None
    layer: Annotated[
        str | None,
        Meta(
            description="h5ad files: the layer with the counts; X: the matrix itself; null: the "
            "layer counts where there is one, else X."
        ),
    ] = None
    discretise: Annotated[
        Discretise | None,
        Meta(
            description="Dense tables: turn each cell into a word column=bin, with bins learned on "
            "the file given to fit (see vocabulary_from); null: the table must hold counts."
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check values beyond their bounds: document limits by their form, and patterns."""
        for name, limit in (("min_df", self.min_df), ("max_df", self.max_df)):
            if isinstance(limit, float) and not 0 <= limit <= 1:
                raise FieldError(name, f"must be a share from 0.0 to 1.0, got {limit}")
            if isinstance(limit, int) and limit < 1:
                raise FieldError(name, f"must be >= 1 document, got {limit}")
        if type(self.min_df) is type(self.max_df) and self.min_df > self.max_df:
            what = f"must be <= max_df, got {self.min_df} and {self.max_df}"
            raise FieldError("min_df", what)
        if len(self.ngram_range) != 2 or self.ngram_range[0] > self.ngram_range[1]:
            what = f"must be two numbers that do not fall, got {list(self.ngram_range)}"
            raise FieldError("ngram_range", what)
        if self.delimiter not in (None, "tab") and not re.fullmatch('[^"\\r\\n]', self.delimiter):
            what = f"must be one letter, no quote, or tab: {self.delimiter!r}"
            raise FieldError("delimiter", what)
        if self.suffixes is not None and not re.fullmatch(SUFFIX_LIST, self.suffixes):
            raise ValueError(f"suffixes must be such as .txt,.rst, got {self.suffixes!r}")
        if self.stemmer is not None and self.lemmas is not None:
            raise ValueError("stemmer and lemmas both change the words: give one of them")
        if self.token_pattern is not None:
            try:
                n_groups = re.compile(self.token_pattern).groups
            except re.error as error:
                raise ValueError(f"token_pattern is no regular expression ({error})") from None
            if n_groups > 1:
                raise ValueError(f"token_pattern must have at most one group, got {n_groups}")


def data_layer(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return entries of ``data`` by their Python names as settings: ``from_`` is ``data.from``."""
    return {"data": {"from" if key == "from_" else key: value for key, value in data.items()}}


class InferenceConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The schedule every backend has; backends add their own keys in a subclass."""

    iterations: Iterations = 100
    tolerance: Annotated[
        float,
        Meta(
            ge=0,
            description="Stop when the relative change of the objective between two recordings is "
            "below this number; 0: never.",
        ),
    ] = 0.0
    shards: Annotated[
        int,
        Meta(
            ge=1,
            description="Number of parts of the corpus that are processed side by side and "
            "exchange their counts once per iteration. It changes the result; the number of "
            "workers does not.",
        ),
    ] = 1


BurnIn = Annotated[int, Meta(ge=0, description="Number of iterations before the first kept draw.")]
KeepEvery = Annotated[int, Meta(ge=1, description="Iterations between two kept draws.")]


class SamplerConfig(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of a sampler, whose states are draws; thinned draws are kept."""

    tolerance: IdleTolerance = 0.0
    burn_in: BurnIn = 200
    keep_every: KeepEvery = 50
    chains: Annotated[
        int, Meta(ge=1, description="Number of Markov chains, each with its own start.")
    ] = 1
    summarise: Summarise = "last"


class OutputConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often the run is written to."""

    checkpoint_seconds: Annotated[
        float,
        Meta(
            ge=0, description="Seconds between two checkpoints; 0: a checkpoint at every iteration."
        ),
    ] = 600.0
    record_every: Annotated[
        int, Meta(ge=1, description="Iterations between two recorded objectives.")
    ] = 10


class TopLevelKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys outside any section."""

    backend: Annotated[
        str,
        Meta(
            description="The model and its inference method, by name; "
            "hiertopics backends lists them."
        ),
    ]
    seed: Annotated[
        int, Meta(ge=0, description="Every random draw of the fit derives from this number.")
    ] = 0


class Experiment(TopLevelKeys, frozen=True, kw_only=True):
    """All checked settings of a fit; ``build`` makes them.

    ``model`` and ``inference`` are the backend's own structs.
    """

    data: DataConfig
    model: Any
    inference: InferenceConfig
    output: OutputConfig


def build(
    layers: Layers,
    *,
    model_type: type[msgspec.Struct],
    inference_type: type[InferenceConfig],
    tell: Callable[[str, str], None] | None = None,
) -> Experiment:
    """Merge named layers of settings, where a later layer wins, and check every key.

    tell: called with the layer and a sentence where a layer has former names of settings.
    Raises ConfigError with all problems, each naming the layer that caused it.
    """
    named = Translation(layers, inference_type)
    reader = Reader(named.layers, section_types(model_type, inference_type))
    parts: dict[str, Any] = {name: reader.read(name) for name in reader.kinds}
    if problems := named.problems + reader.problems:
        raise ConfigError(problems)
    if tell is not None:
        for source, note in named.notes:
            tell(source, note)
    header = structs.asdict(parts.pop(""))
    return Experiment(**header, **parts)


def section_types(
    model_type: type[msgspec.Struct], inference_type: type[InferenceConfig]
) -> dict[str, type[msgspec.Struct]]:
    """Return the struct of each section in the order of a file; "" stands for the top level."""
    return {
        "": TopLevelKeys,
        "data": DataConfig,
        "model": model_type,
        "inference": inference_type,
        "output": OutputConfig,
    }


def dump(experiment: Experiment) -> str:
    """Return the complete configuration as YAML text; loaded and built it is equal again."""
    return dump_yaml(msgspec.to_builtins(experiment))


_WIDTH = 96


def template(
    backend_name: str,
    summary: str,
    model_type: type[msgspec.Struct],
    inference_type: type[InferenceConfig],
) -> str:
    """Return YAML text that loads and builds to the all-default experiment of the backend.

    Raises ConfigError if a default breaks the bounds of its own field.
    """
    layers = [("the backend's name", {"backend": backend_name})]
    default = build(layers, model_type=model_type, inference_type=inference_type)
    blocks = [_comment(f"{backend_name}: {summary}\nEvery key is shown with its default.")]
    for name, kind in section_types(model_type, inference_type).items():
        values = msgspec.to_builtins(getattr(default, name) if name else default)
        blocks.append(_section(name, kind, values))
    return "\n".join(blocks)


def _section(name: str, kind: type[msgspec.Struct], values: dict[str, object]) -> str:
    keys = "\n".join(
        _key(field, values[field.encode_name]) for field in structs.fields(kind) if offered(field)
    )
    if not name:
        return keys
    return f"{name}:\n{textwrap.indent(keys, '  ')}" if keys else f"{name}: {{}}\n"


def _key(field: structs.FieldInfo, value: object) -> str:
    words = f"{description(field.type)} Takes {expectation(field.type)}.".lstrip()
    inner = nested(field.type)
    for key in () if inner is None else structs.fields(inner):
        words += f"\n{key.encode_name} (default {key.default}): {description(key.type)}"
    return _comment(words) + dump_yaml({field.encode_name: value})


def _comment(text: str) -> str:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _WIDTH - 2)]
    return "".join(f"# {line}\n" for line in lines)
