"""Grey images as rows of 0 and 1: pooled to squares of equal size, then cut at a threshold.

Reads IDX, the format of MNIST and its relatives (big-endian: two zero bytes, a type, the number
of dimensions, their sizes, then the numbers).
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from hiertopics.base.arrays import F64, U8, Bools

UNSIGNED_BYTE = 8
BRIGHTEST = 255


def read_idx(path: Path) -> U8:
    """Return the array of an IDX file of bytes, packed by gzip or not; ValueError for any other."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 4 or data[:3] != bytes((0, 0, UNSIGNED_BYTE)):
        raise ValueError(f"{path} is no IDX file of bytes")
    head = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:head], ">u4")
    if len(data) - head != shape.prod():
        raise ValueError(f"{path} holds {len(data) - head} numbers where {shape.prod()} should be")
    return np.frombuffer(data[head:], np.uint8).reshape(shape)


def to_bits(images: U8, side: int, threshold: float) -> U8:
    """Return a row of side x side bits per image [n, height, width].

    A pixel of the small image is the mean over its area of the large one, parts of pixels
    included; its bit says whether that is above ``threshold``, a share of the brightest.
    """
    down, across = (pooling(size, side) for size in images.shape[1:])
    small = np.einsum("ih,nhw,jw->nij", down, images / BRIGHTEST, across, optimize=True)
    bits: Bools = small > threshold
    return bits.astype(np.uint8).reshape(len(images), side * side)


def pooling(size: int, side: int) -> F64:
    """Return the shares [side, size] that pixels of a line have in the means of its parts."""
    edges = np.arange(side + 1) * size / side
    pixels = np.arange(size)
    low = np.maximum(edges[:-1, None], pixels)
    high = np.minimum(edges[1:, None], pixels + 1)
    return np.asarray(np.clip(high - low, 0.0, None) * side / size)


def convert(images: Path, output: Path, side: int, threshold: float) -> tuple[int, float]:
    """Write images as ``.npy``; return how many there are, and the share of ones."""
    bits = to_bits(read_idx(images), side, threshold)
    np.save(output, bits)
    return len(bits), float(bits.mean())


def convert_labels(labels: Path, output: Path) -> None:
    """Write the classes of images as a side file, one number per line."""
    numbers = read_idx(labels).tolist()
    output.write_text("".join(f"{number}\n" for number in numbers), encoding="utf-8")
