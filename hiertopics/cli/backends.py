"""``hiertopics backends``."""

from __future__ import annotations

import click

from hiertopics.cli.options import json_option, put


@click.command("backends")
@json_option
def command(as_json: bool) -> int:
    """List the backends, one line each; the default is marked."""
    import json

    from hiertopics.registry import backends

    for row in backends():
        mark = " (default)" if row["default"] else ""
        line = f"{row['backend']:<12} {row['summary']}{mark}"
        put(json.dumps(row) if as_json else line)
    return 0
