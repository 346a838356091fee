"""Types of arrays for annotations, by NumPy kind and size in bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
I16 = NDArray[np.int16]
I8 = NDArray[np.int8]
U64 = NDArray[np.uint64]
U32 = NDArray[np.uint32]
U16 = NDArray[np.uint16]
U8 = NDArray[np.uint8]
Bools = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Numbers = NDArray[np.number[Any]]
