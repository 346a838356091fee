# The commands of whoever changes hiertopics: `just` lists them (pip install rust-just).

_list:
    @just --list --unsorted

# an environment with all that is needed
setup:
    python3 -m venv .venv
    .venv/bin/pip install -e '.[dev]'
    .venv/bin/pre-commit install

# the tests that cost little: some minutes of two cores
quick:
    .venv/bin/python -m pytest -m "not slow"

# all tests
test:
    .venv/bin/python -m pytest

# linters and types
lint:
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy

# pages that are generated: commands and keys
docs:
    .venv/bin/python docs/build_reference.py

# the guide as a site, with a search and finished reports: open site/index.html
site:
    .venv/bin/pip install -q -e '.[docs]'
    .venv/bin/python docs/build_site.py -o site --gallery gallery

# which lines of Python the tests run
coverage:
    .venv/bin/python -m pytest --cov --cov-report=term-missing:skip-covered

# what a change must pass: a fresh clone, the first commands of the README, the linters
ci:
    .ci/run

# long checks: kills, fuzz, calibration, mutants, plain numba, lowest versions
nightly *part:
    .ci/nightly {{part}}
