"""``python -m hiertopics``."""

from hiertopics.cli import main

main()
