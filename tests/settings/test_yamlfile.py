"""YAML: what plain scalars mean, which files are refused and where, and the round trip."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, strategies as st

from hiertopics.base.errors import ConfigError
from hiertopics.settings.yamlfile import dump_yaml, load_yaml, parse_value


def load(tmp_path: Path, text: str | bytes) -> dict[str, object]:
    """Return what a file with this text holds."""
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_yaml(path)


def complaint(tmp_path: Path, text: str | bytes) -> str:
    """Return the message about a file with this text, without its folder."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3), ("1E5", 1e5), (".5", 0.5), ("1.", 1.0), ("-1.5e+3", -1500.0), ("1e3", 1e3),
        ("+.5", 0.5), ("-.inf", -math.inf), (".Inf", math.inf),
        ("12", 12), ("-3", -3), ("+3", 3), ("0", 0), ("012", 12), ("08", 8), ("-012", -12),
        ("0x1F", 31), ("0o17", 15),
        ("true", True), ("False", False), ("TRUE", True),
        ("null", None), ("~", None), ("", None), ("Null", None),
        ("!!str 12", "12"), ("!!float 3", 3.0), ("!!int '7'", 7), ("!!bool 'TRUE'", True),
    ],
)  # fmt: skip
def test_core_rules(text: str, value: object) -> None:
    """Numbers, booleans and null as YAML 1.2 has them; the type counts too."""
    read = parse_value(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "no", "on", "off", "y", "n", "Yes", "NO", "tRUE", "nULL"),
        *("1:30", "3:50:00", "2001-01-01", "2001-01-01 10:00:00", "1_000", "0b11", "0777_1"),
        *("docs:0.1@0", "fold:2/5@1", "1e", "e5", ".", "-", "1.2.3", "inf", "nan", "=", "0x", "٣"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    """Words of YAML 1.1, times, dates and hold-out specs keep their letters."""
    assert parse_value("'-'" if text == "-" else text) == text


def test_nan() -> None:
    """Not-a-number is read; whether a key may be it is not YAML's business."""
    read = parse_value(".nan")
    assert isinstance(read, float)
    assert math.isnan(read)


def test_anchors_and_merge_keys(tmp_path: Path) -> None:
    """Anchors and ``<<`` work, and an own key wins over a merged one without being 'twice'."""
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc: {<<: *b, x: 4}\nd: *a\n"
    assert load(tmp_path, text) == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": {"x": 4, "y": 3},
        "d": {"x": 1, "y": 2},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nmodel:\n  gamma: 1\n  gamma: 2\n", "x.yaml:4: key 'gamma' is given twice"),
        ("model: {a: 1, 'a': 2}", "x.yaml:1: key 'a' is given twice"),
        ("a:\n- 1\n- {b: 1, b: 1}\n", "x.yaml:3: key 'b' is given twice"),
        ("model:\n  1: 2\n", "x.yaml:2: a key must be text"),
        ("? !!str {a: 1}\n: 3\n", "x.yaml:1: a key must be text"),
        ("a: {<<: 3}\n", "x.yaml:1: expected a mapping"),
        ("a: !!seq {b: 1}\n", "x.yaml:1: expected a sequence"),
        ("a: !!str [1]\n", "x.yaml:1: expected a scalar"),
        ("true: 2\n", "x.yaml:1: a key must be text"),
        ("? [1, 2]\n: 3\n", "x.yaml:1: a key must be text"),
        ("a: 1\nb: !!python/object:os.system {}\n", "x.yaml:2: tag 'tag:yaml.org,2002:python/"),
        ("a: !mine 3\n", "x.yaml:1: tag '!mine' has no meaning here"),
        ("a: 1\nb: !!int x\n", "x.yaml:2: cannot read 'x' as int"),
        ("a: !!bool maybe\n", "x.yaml:1: cannot read 'maybe' as bool"),
        ("a: !!timestamp x\n", "x.yaml:1: tag"),
        (f"a: {'9' * 5000}\n", "x.yaml:1: cannot read '999"),
        ("a: &a {b: *a}\n", "x.yaml:1: found unconstructable recursive node"),
        ("a: &a [*a]\n", "x.yaml:1: found unconstructable recursive node"),
        ("a: *b\n", "x.yaml:1: found undefined alias 'b'"),
        ("a: 1\n--- \nb: 2\n", "x.yaml:2: but found another document"),
        ("a: 1\n", None),
        ("- 1\n", "x.yaml: the top level must be a mapping of keys, got list"),
        ("3\n", "x.yaml: the top level must be a mapping of keys, got int"),
        ("", "x.yaml: the top level must be a mapping of keys, got nothing"),
        ("# only\n# comments\n", "x.yaml: the top level must be a mapping of keys, got nothing"),
        ("model:\n\tgamma: 1\n", "x.yaml:2: found character '\\t' that cannot start any token"),
        ("a: 1\nb: [1, 2\n", "x.yaml:3: expected ',' or ']'"),
        ("a: 1\n b: 2\n", "x.yaml:2: mapping values are not allowed here"),
        ("a: 1\nb: \x07\n", "x.yaml:2: character '\\x07' is not allowed"),
        (b"a: 1\nb: caf\xe9\n", "x.yaml:2: not UTF-8 text"),
        ("a: 1\n".encode("utf-16"), "x.yaml:1: not UTF-8 text"),
        ("[" * 5000, "x.yaml:1: nested too deeply"),
        ("a: @x\n", "x.yaml:1: found character '@' that cannot start any token"),
    ],
)
def test_refused_files_name_the_line(
    tmp_path: Path, text: str | bytes, message: str | None
) -> None:
    """Each malformed file gives one ConfigError with file and line, never another exception."""
    if message is None:
        load(tmp_path, text)
    else:
        assert complaint(tmp_path, text).startswith(message)


def test_unclosed_quote_names_where_it_opened(tmp_path: Path) -> None:
    """The end of the file is where the parser notices, not where the mistake is."""
    text = "a: 1\nb: 'x\nc: 1\n"
    what = complaint(tmp_path, text)
    assert what.endswith("while scanning a quoted scalar (line 2)")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """A path that cannot be opened is a problem of the configuration."""
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file"):
        load_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="Is a directory"):
        load_yaml(str(tmp_path))


def test_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    """Files from Windows editors read as any other."""
    assert load(tmp_path, b"\xef\xbb\xbfa: 1\r\nb: x\r\n") == {"a": 1, "b": "x"}


@pytest.mark.parametrize("text", ["@x", "[1", "a: b: c", "'x", "!!int x", "{a: 1, a: 2}", "\x00"])
def test_bad_values(text: str) -> None:
    """A value of ``--set`` is refused in the same way, without a place."""
    with pytest.raises(ConfigError):
        parse_value(text)


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
@example("{{}: 1}")
@example("? : [")
@example("&a [*a]")
def test_any_text_is_a_value_or_a_config_error(text: str) -> None:
    """Garbage never gives a traceback."""
    try:
        parse_value(text)
    except ConfigError as error:
        assert str(error)


TRICKY = [
    *("yes", "no", "on", "off", "y", "n", "true", "True", "null", "~", "", " ", "=", "<<", "-"),
    *("1e-3", "1E5", ".5", "012", "0o17", "0x1F", "0b11", "1_000", "1:30", "2001-01-01", "1."),
    *("+1", ".inf", ".nan", "#x", "a: b", "a #b", "- x", "? x", "!x", "&x", "*x", "@x", "`x", "%x"),
    *("a\nb", "a\n", "\n", "\ta", "a\t", "a\r\n", "\x85", "\u2028", "\ufeff", "\x00", "\x7f", "é"),
    *("'", '"', "\U0001f600", "\ud800", "C:\\x", "x" * 300, "x " * 99),
    *("---", "...", "[", "{", "|", ">"),
]  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(TRICKY)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text() | st.sampled_from(TRICKY), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(left: object, right: object) -> bool:
    """Equal with equal types: 1, 1.0 and True are three values."""
    return repr(left) == repr(right)


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_strings_read_back(text: str) -> None:
    """As value and as key, under our rules and under YAML 1.1."""
    for value in (text, {text: text}, [text]):
        assert same(parse_value(dump_yaml(value)), value)
        assert same(yaml.safe_load(dump_yaml(value)), value)


@given(VALUES)
def test_what_is_written_reads_back(value: object) -> None:
    """Under our rules and under YAML 1.1."""
    text = dump_yaml(value)
    assert same(parse_value(text), value)
    assert same(yaml.safe_load(text), value)


def test_small_and_large_floats_are_floats_everywhere() -> None:
    """YAML 1.1 takes 1e-05 for a string, 1.0e-05 for a number."""
    assert dump_yaml({"a": 1e-05, "b": 1e16}) == "a: 1.0e-05\nb: 1.0e+16\n"


def test_a_date_is_text_here_and_would_not_be_elsewhere() -> None:
    """The trap is real, and the dumper quotes around it."""
    assert isinstance(yaml.safe_load("2001-01-01"), datetime.date)
    assert dump_yaml({"a": "2001-01-01"}) == "a: '2001-01-01'\n"
