"""The label columns of a table as MULAN names them: XML with one ``label`` element for each."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import ParseError, XMLParser

from hiertopics.errors import DataError
from hiertopics.formats.opening import opened

CHUNK = 1 << 16


class _Labels:
    """Collects the names of ``label`` elements, nested ones too, in the order of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, None] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition("}")[2] != "label":
            return
        name = attributes.get("name", "")
        if not name or name in self.names:
            what = "a label without name" if not name else f"the label {name!r} stands here twice"
            raise DataError(self.path, what)
        self.names[name] = None

    def doctype(self, *_: object) -> None:
        # What a document type declares may expand without bound or name other files.
        raise DataError(self.path, "declares a document type, which no list of labels needs")


def read_label_names(path: Path) -> list[str]:
    """Return the names of the labels; raises DataError where the file is no list of labels."""
    labels = _Labels(path)
    parser = XMLParser(target=labels)
    try:
        with opened(path) as file:
            while chunk := file.read(CHUNK):
                parser.feed(chunk)
        parser.close()
    except ParseError as error:
        raise DataError(path, f"not XML ({error})", error.position[0]) from error
    except (ValueError, LookupError) as error:  # an encoding that does not exist or is multi-byte
        raise DataError(path, f"not XML ({error})") from error
    if not labels.names:
        raise DataError(path, "names no label: expected <label name=...> elements")
    return list(labels.names)
