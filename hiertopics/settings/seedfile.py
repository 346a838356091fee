"""Files of seed words: YAML, a name of a topic and its words on each line."""

from __future__ import annotations

from pathlib import Path

from hiertopics.errors import ConfigError
from hiertopics.settings.fields import show
from hiertopics.settings.yamlfile import lines_of, load_yaml


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Return the words of each name; raises ConfigError naming the line of each mistake."""
    found, problems = load_yaml(path), []
    seeds: dict[str, list[str]] = {}
    for name, words in found.items():
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            seeds[name] = words
            continue
        odd = words
        if isinstance(words, list) and words:
            odd = next(word for word in words if not isinstance(word, str))
        got = "nothing" if words is None or words == [] else show(odd)
        what = f"expected a list of words for {name!r}, as [orbit, nasa], got {got}"
        hint = "; quote it where it is a word" if isinstance(words, list) and words else ""
        problems.append(f"{path}:{lines_of(path)[name]}: {what}{hint}")
    if problems:
        raise ConfigError(problems)
    return seeds
