#!/usr/bin/env python3
"""The throughput of plain Python tools with one worker and with four: benches/workers/run.py [PMCP].

One session over stdio makes all calls, 64 in flight, with --worker-affinity none. The subjects take turns in each round.
Prints a table of medians, and writes all numbers to results.json next to this file.
"""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROUNDS = 5
CALLS = 200
IN_FLIGHT = 64
WORKERS = (1, 4)
GOALS = {"sleep": 3.5, "compute": 1.5}


class Server:
    """A pmcp with this many workers, all of which take calls."""

    def __init__(self, pmcp, workers):
        command = [pmcp, "run", HERE / "tools.py", "--workers", str(workers), "--worker-affinity", "none"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)
        client = {"name": "bench", "version": "1"}
        self.send(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.answer()
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for line in self.process.stderr:
            if "serving" in line:
                break

    def write(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")

    def send(self, number, method, params):
        self.write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def answer(self):
        while True:
            message = json.loads(self.process.stdout.readline())
            if "id" in message and "method" not in message:
                if message.get("result", {}).get("isError") or "error" in message:
                    sys.exit(f"a call failed: {message}")
                return message

    def throughput(self, tool):
        """Calls per second."""
        begun = time.perf_counter()
        for number in range(1, CALLS + 1):
            if number > IN_FLIGHT:
                self.answer()
            self.send(number, "tools/call", {"name": tool, "arguments": {}})
        for _ in range(IN_FLIGHT):
            self.answer()
        return CALLS / (time.perf_counter() - begun)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    pmcp = sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "target/release/pmcp"
    servers = {workers: Server(pmcp, workers) for workers in WORKERS}
    rates = {tool: {workers: [] for workers in WORKERS} for tool in GOALS}
    loads = []
    for _ in range(ROUNDS):
        loads.append(round(os.getloadavg()[0], 1))
        for tool in GOALS:
            for workers, server in servers.items():
                rates[tool][workers].append(round(server.throughput(tool), 1))
    for server in servers.values():
        server.end()
    (HERE / "results.json").write_text(json.dumps({"rates": rates, "loads": loads}, indent=2) + "\n")
    print("| tool | 1 worker, calls/s | 4 workers, calls/s | ratio | goal |")
    print("| --- | ---: | ---: | ---: | --- |")
    for tool, goal in GOALS.items():
        one, four = (statistics.median(rates[tool][workers]) for workers in WORKERS)
        verdict = "met" if four / one >= goal else "missed"
        print(f"| {tool} | {one:.1f} | {four:.1f} | {four / one:.2f} | ≥ {goal}: {verdict} |")
    print(f"load of the machine at the start of the rounds: {loads}")


if __name__ == "__main__":
    main()
