"""A slow link between two network namespaces: each packet arrives after a delay.

Usage, as root: slowlink.py SECONDS NAMESPACE ADDRESS NAMESPACE ADDRESS. Each namespace gets a
device ``slow`` with its address. The signal STOP stalls the link, CONT lets it go on. This program
needs no module of the kernel, as ``tc ... netem`` does.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LARGEST = 65_536


def device(namespace: str, own: str, other: str) -> int:
    """Make the device in a namespace; return the file of its packets."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH14x", b"slow", IFF_TUN | IFF_NO_PI))
    inside = ["ip", "-n", namespace]
    for command in (
        ["ip", "link", "set", "slow", "netns", namespace],
        [*inside, "address", "add", own, "peer", other, "dev", "slow"],
        [*inside, "link", "set", "slow", "up"],
    ):
        subprocess.run(command, check=True)
    return file


def relay(ends: tuple[int, int], delay: float) -> None:
    """Pass packets on for ever, in both directions."""
    other = dict(zip(ends, reversed(ends), strict=True))
    under_way: deque[tuple[float, int, bytes]] = deque()
    while True:
        wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for end in select.select(ends, (), (), wait)[0]:
            packet = os.read(end, LARGEST)
            under_way.append((time.monotonic() + delay, other[end], packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, packet = under_way.popleft()
            try:
                os.write(end, packet)
            except OSError:  # a full queue or a device that is down loses packets, as links do
                continue


if __name__ == "__main__":
    seconds, one, its_address, two, their_address = sys.argv[1:]
    relay(
        (device(one, its_address, their_address), device(two, their_address, its_address)),
        float(seconds),
    )
