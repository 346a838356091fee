"""``hiertopics config``."""

from __future__ import annotations

import click

from hiertopics.cli.options import put


@click.command("config")
@click.argument("backend")
def command(backend: str) -> int:
    """Print a complete commented YAML config of BACKEND with every default."""
    from hiertopics.registry import config

    put(config(backend), nl=False)
    return 0
