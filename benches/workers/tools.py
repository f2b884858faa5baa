"""Plain functions, which an SDK runs one at a time."""
import hashlib
import time

from protomcp import tool
from protomcp.runner import run


@tool("Sleeps for 20 ms.")
def sleep() -> str:
    time.sleep(0.02)
    return "slept"


@tool("Computes for some 20 ms and holds the lock of the interpreter.")
def compute() -> str:
    digest = b"0"
    for _ in range(40_000):
        digest = hashlib.sha256(digest).digest()
    return digest.hex()


if __name__ == "__main__":
    run()
