"""Under which settings a backend promises that its objective never falls."""

from __future__ import annotations

from hiertopics.testing.bench import bench_of


def promised(*case: str) -> bool:
    """Return whether the settings of a case promise it."""
    bench = bench_of(case)
    return bool(bench.module.monotone(bench.settings))


def test_the_promise_is_that_of_the_settings_at_hand() -> None:
    assert promised("hlda-variational")
    assert not promised("hlda-variational", "inference.batch_size=3")
    assert not promised("hlda-variational", "inference.guard_moves=false")
    assert promised("hlda-variational", "inference.guard_moves=false", "inference.moves=none")
    assert promised("chdp-variational", "inference.method=sticks")
    assert not promised("chdp-variational")
