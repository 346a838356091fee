"""``hiertopics config``."""

from __future__ import annotations

import click


@click.command("config")
@click.argument("backend")
def command(backend: str) -> int:
    """Print a complete commented YAML config of BACKEND with every default."""
    from hiertopics.registry import config

    click.echo(config(backend), nl=False)
    return 0
