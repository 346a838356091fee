"""``hiertopics backends``."""

from __future__ import annotations

import click

from hiertopics.cli.options import json_option


@click.command("backends")
@json_option
def command(as_json: bool) -> int:
    """List the backends, one line each; the default is marked."""
    import json

    from hiertopics.registry import BACKENDS, DEFAULT

    for name, entry in BACKENDS.items():
        if as_json:
            click.echo(
                json.dumps({"backend": name, "summary": entry.summary, "default": name == DEFAULT})
            )
        else:
            mark = " (default)" if name == DEFAULT else ""
            click.echo(f"{name:<12} {entry.summary}{mark}")
    return 0
