"""The XML that names label columns: nested, in any order, and never a bomb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spoilt import Put

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.vectors import Vectors
from hiertopics.corpus.formats.reading import read_corpus, resolve
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.papers.arff import read_label_names

XMLNS = 'xmlns="http://mulan.sourceforge.net/labels"'
XML = (
    f'<?xml version="1.0"?>\n<labels {XMLNS}>\n<label name="late"/><label name="red"/>\n</labels>\n'
)
ARFF = """@relation r
@attribute red {0,1}
@attribute size numeric
@attribute late {0,1}
@data
1,0.5,0
0,2,0
"""


def test_names_in_the_order_of_the_file(put: Put) -> None:
    assert read_label_names(put("a.xml", XML)) == ["late", "red"]


def test_nested_labels_and_other_elements(put: Put) -> None:
    text = '<labels><label name="a"><label name="b &amp; c"/></label><other name="d"/></labels>'
    assert read_label_names(put("a.xml.gz", text)) == ["a", "b & c"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_the_encoding_that_the_file_declares(put: Put, encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><labels><label name="é"/></labels>'
    assert read_label_names(put("a.xml", text.encode(encoding))) == ["é"]


BOMB = (
    '<?xml version="1.0"?>\n<!DOCTYPE labels [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    '<labels><label name="&b;"/></labels>'
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused(put: Put, encoding: str) -> None:
    with pytest.raises(DataError, match=r"a\.xml: declares a document type"):
        read_label_names(put("a.xml", BOMB.encode(encoding)))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<labels>\n<label name='x'>\n</labels>", 3, "not XML"),
        ("", 1, "not XML"),
        ("<labels/>", None, "names no label: expected <label name=...> elements"),
        ("<labels><label/></labels>", None, "a label without name"),
        ("<labels><label name='x'/><label name='x'/></labels>", None, "'x' stands here twice"),
        ('<?xml version="1.0" encoding="none"?><labels/>', None, "not XML"),
        (b"\x00\xff\xfe<labels/>", 1, "not XML"),
    ],
)
def test_what_is_no_list_of_labels(put: Put, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_label_names(put("a.xml", text))
    assert caught.value.line == line


def read(put: Put, arff: Any = ARFF, name: str = "a.arff", **options: Any) -> Any:
    return read_corpus(Source(put(name, arff), **options))


def test_label_columns_are_found_by_name_and_keep_the_order_of_the_columns(put: Put) -> None:
    """The two lists name the labels in different orders; that of the table counts."""
    put("a.xml", XML)
    vectors = read(put)
    assert vectors.columns == ("size",) and vectors.rows.tolist() == [[0.5], [2.0]]
    assert vectors.labels.names == ("red", "late")
    assert vectors.labels.members.toarray().tolist() == [[True, False], [False, False]]


def test_label_columns_of_sparse_rows(put: Put) -> None:
    put("a.xml", XML)
    sparse = ARFF.partition("1,0.5")[0] + "{1 3,2 1}\n{}\n{0 1,2 1}\n"
    corpus = read(put, sparse)
    assert (corpus.vocab, corpus.counts.toarray().tolist()) == (("size",), [[3], [0], [0]])
    assert corpus.labels.members.toarray().tolist() == [[False, True], [False] * 2, [True, True]]


@pytest.mark.parametrize("name", ["a-train.arff", "a-train.arff.gz"])
@pytest.mark.parametrize("side", ["a.xml", "a-train.xml"])
def test_the_xml_of_a_pair_of_files_is_found(put: Put, name: str, side: str) -> None:
    put(side, XML)
    assert read(put, name=name).labels.names == ("red", "late")


def test_the_file_that_is_named_more_like_it_wins(put: Put) -> None:
    put("a.xml", "<labels><label name='size'/></labels>")
    put("a-b.xml", XML)
    labels = resolve(Source(put("a-b.arff", ARFF))).labels
    assert labels is not None and labels.name == "a-b.xml"
    put("a-b.labels", "x\ny\n")
    labels = resolve(Source(put("a-b.arff", ARFF))).labels
    assert labels is not None and labels.name == "a-b.labels"


def test_the_xml_may_be_named(put: Put) -> None:
    assert read(put, labels=put("other.xml", XML)).labels.names == ("red", "late")


@pytest.mark.parametrize("name", ["a.ldac", "a.h5ad"])
def test_an_xml_beside_another_format_is_no_labels_file(put: Put, name: str) -> None:
    """Also beside a format that names its own words."""
    put("a.xml", XML)
    assert resolve(Source(put(name, "0\n"))).labels is None
    with pytest.raises(UsageError, match=rf"label columns of an ARFF file, but .*{name} is read"):
        resolve(Source(put(name, "0\n"), labels=put("a.xml", XML)))


def test_a_label_that_is_no_column_names_both_files(put: Put) -> None:
    put("a.xml", XML.replace("late", "tall"))
    with pytest.raises(DataError, match=r"a\.xml: the label 'tall' is no attribute of .*a\.arff"):
        read(put)


def test_a_label_is_0_or_1(put: Put) -> None:
    put("a.xml", "<labels><label name='size'/></labels>")
    with pytest.raises(DataError, match=r"a\.arff:6: the label 'size' is 0 or 1, got 0\.5"):
        read(put)


def test_labels_alone_are_no_table(put: Put) -> None:
    put("a.xml", XML.replace("</labels>", "<label name='size'/></labels>"))
    with pytest.raises(DataError, match="every attribute is a label"):
        read(put)


def test_a_class_column_stands_for_the_xml(put: Put) -> None:
    put("a.xml", XML)
    vectors = read(put, label_column="red")
    assert (vectors.columns, vectors.labels.names) == (("size", "late"), ("0", "1"))


def test_a_stale_xml_is_not_read_with_another_table(put: Put, tmp_path: Path) -> None:
    put("a.xml", XML)
    table = Vectors(np.ones((1, 1)), ("size",))
    with pytest.raises(UsageError, match=r"a\.xml lies beside it and would be read with it"):
        write_corpus(table, tmp_path / "a-new.arff")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]
