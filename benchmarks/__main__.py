"""Entry point of ``python -m benchmarks``."""

from __future__ import annotations

from benchmarks.machine import use_one_thread


def main() -> None:
    """Run the command line."""
    use_one_thread()  # before numpy is imported: its libraries read the limits only once
    from benchmarks.cli import cli

    cli(prog_name="python -m benchmarks")


if __name__ == "__main__":
    main()
