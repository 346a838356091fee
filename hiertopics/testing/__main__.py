"""Test an installed backend: ``python -m hiertopics.testing NAME [-s KEY=VALUE] [-- OPTION]``."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from hiertopics.base.errors import HiertopicsError
from hiertopics.contract import registry
from hiertopics.testing.bench import cases_of_backend
from hiertopics.testing.chosen import PLUGIN, CasePlugin


@click.command()
@click.argument("backend")
@click.option(
    "-s", "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="A setting of every fit."
)
@click.argument("options", nargs=-1)
def main(backend: str, overrides: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Run the tests of the contract over BACKEND; OPTIONS behind -- go to pytest."""
    try:
        cases = cases_of_backend(registry.named(backend), overrides)
    except HiertopicsError as error:
        raise click.UsageError(str(error)) from error
    folder = Path(__file__).parent
    words = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={folder}"]
    words += ["-o", "markers=slow\nof_those\nas_users_do", str(folder), *options]

    class PluginRegistration:
        """Gives the plugin its name."""

        @staticmethod
        def pytest_configure(config: pytest.Config) -> None:
            """Hand over the cases."""
            config.pluginmanager.register(CasePlugin(cases), PLUGIN)

    sys.exit(pytest.main(words, plugins=[PluginRegistration()]))


if __name__ == "__main__":
    main()
