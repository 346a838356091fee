"""What there is to choose from: the backends, and the settings of each."""

from __future__ import annotations

from typing import Any

from hiertopics import registry


def backends() -> list[dict[str, Any]]:
    """Return one record per backend: backend, summary, and whether it is the default."""
    return [
        {"backend": name, "summary": entry.summary, "default": name == registry.DEFAULT}
        for name, entry in registry.BACKENDS.items()
    ]


def config(backend: str) -> str:
    """Return a complete commented YAML config of a backend with every default.

    Raises UsageError for an unknown name.
    """
    from hiertopics.settings.template import (
        template,  # reads YAML, which a list of backends does not need
    )

    module = registry.load(backend)
    return template(backend, registry.BACKENDS[backend].summary, module.Model, module.Inference)
