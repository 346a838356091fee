"""How responsibilities are kept between visits: their roots, in 16 bits (theory/nhdp 3.4).

Tables of floats keep them as they are; tests of exactness have these.
"""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import Floats
from hiertopics.families.nhdp.layout import Kept
from hiertopics.numeric.jit import REASSOCIATE, kernel

STEPS = np.float32(65535)


@kernel(fastmath=REASSOCIATE)
def unpack(kept: Kept, row: Floats) -> None:
    """Write to ``row`` what is kept."""
    rooted = kept.itemsize == 2
    kind = row.dtype.type
    scale = kind(1) / kind(STEPS) if rooted else kind(1)
    for at in range(len(kept)):
        value = kind(kept[at]) * scale
        row[at] = value * value if rooted else value


@kernel(fastmath=REASSOCIATE)
def pack(row: Floats, kept: Kept) -> None:
    """Keep a row of responsibilities, none of which is below 0."""
    kind = row.dtype.type
    if kept.itemsize == 2:
        for at in range(len(kept)):
            kept[at] = kept.dtype.type(min(np.sqrt(row[at]), kind(1)) * kind(STEPS) + kind(0.5))
    else:
        for at in range(len(kept)):
            kept[at] = row[at]
