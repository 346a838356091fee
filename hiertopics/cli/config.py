"""``hiertopics config``."""

from __future__ import annotations

import click


@click.command("config")
@click.argument("backend")
def command(backend: str) -> int:
    """Print a complete commented YAML config of BACKEND with every default."""
    from hiertopics import registry
    from hiertopics.template import template

    module = registry.load(backend)
    summary = registry.BACKENDS[backend].summary
    click.echo(template(backend, summary, module.Model, module.Inference), nl=False)
    return 0
