#!/usr/bin/env python3
"""Measures the SDKs for Python and TypeScript behind `pmcp` beside their peers, over stdio.

The subjects take turns, so that a busy machine is unfair to none of them. The host is a pipe: requests are written as
bytes, and answers are counted as lines, so that it costs little beside the servers. The first and the last answer of
each part are read.

Usage: benches/sdks/run.py [--pmcp PATH] [--rounds N] [--calls N] [--out FILE]

`pmcp` is target/release/pmcp. Wants scripts/setup py mcp node sdk-python. Writes all numbers as JSON to FILE, and the
medians as tables to standard output.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEERS = ROOT / ".peers"
TICK = os.sysconf("SC_CLK_TCK")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def subjects(pmcp, folder):
    """By name: the command, and what it adds to the environment."""
    python = PEERS / "sdk-python/bin/python"
    behind = [pmcp, "run"]
    return {
        "Python, sdk/python": (
            [*behind, folder / "tools.py"],
            {"PROTOMCP_PYTHON": python, "PYTHONPATH": folder / "sdk"},
        ),
        "Python, published protomcp 0.3.1": (
            [*behind, folder / "tools.py"],
            {"PROTOMCP_PYTHON": PEERS / "py/bin/python"},
        ),
        "Python, official SDK, no pmcp": ([PEERS / "mcp/bin/python", folder / "official.py"], {}),
        "Python, FastMCP, no pmcp": ([PEERS / "mcp/bin/python", folder / "fast.py"], {}),
        "Node, sdk/typescript": ([*behind, folder / "tools.mjs"], {}),
        "Node, official SDK, no pmcp": (["node", folder / "official.mjs"], {}),
    }


def prepare(folder):
    """A folder with the files of the bench, the packages for Node, and the SDK for Python, compiled as pip does it."""
    for path in HERE.glob("*.*"):
        shutil.copy(path, folder)
    shutil.copytree(ROOT / "sdk/python/src", folder / "sdk", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([PEERS / "sdk-python/bin/python", "-m", "compileall", "-q", folder / "sdk"], check=True)
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "protomcp").symlink_to(ROOT / "sdk/typescript")
    for name in ["zod", "@modelcontextprotocol"]:
        (modules / name).symlink_to((PEERS / "node/node_modules" / name).resolve())


class Server:
    """A server over pipes, and all processes that it starts."""

    def __init__(self, command, environment, folder):
        self.mark = f"PMCP_BENCH={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        variables = dict(os.environ) | {key: str(each) for key, each in environment.items()}
        variables |= {name: value, "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder)}
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            cwd=folder,
        )
        self.out, self.into = self.process.stdout.fileno(), self.process.stdin.fileno()
        self.rest = b""
        self.last = 0

    def send(self, data):
        while data:
            data = data[os.write(self.into, data) :]

    def lines(self):
        """The whole lines that have arrived; waits for one."""
        while True:
            data = os.read(self.out, 1 << 16)
            if not data:
                raise EOFError("the server has ended")
            *whole, self.rest = (self.rest + data).split(b"\n")
            # Notifications are not answers.
            answers = [line for line in whole if b'"id":' in line]
            if answers:
                return answers

    def request(self, message):
        self.send(json.dumps(message).encode() + b"\n")
        return json.loads(self.lines()[0])

    def begin(self):
        """Returns the seconds from the start to the answer of the first call."""
        self.request(INITIALIZE)
        self.send(json.dumps(INITIALIZED).encode() + b"\n")
        check(self.request(json.loads(self.call("add"))))
        return time.perf_counter() - self.started

    def call(self, tool):
        self.last += 1
        return json.dumps(
            {
                "jsonrpc": "2.0",
                "id": self.last,
                "method": "tools/call",
                "params": {"name": tool, "arguments": {"a": 2, "b": 3}},
            }
        ).encode() + b"\n"

    def one_at_a_time(self, tool, calls):
        """The seconds of each call."""
        found = []
        for _ in range(calls):
            request = self.call(tool)
            before = time.perf_counter()
            self.send(request)
            (line,) = self.lines()
            found.append(time.perf_counter() - before)
        check(json.loads(line))
        return found

    def at_once(self, tool, calls, width):
        """The seconds of all calls, of which `width` are always under way."""
        requests = [self.call(tool) for _ in range(calls)]
        before = time.perf_counter()
        self.send(b"".join(requests[:width]))
        sent, answered = width, 0
        while answered < calls:
            lines = self.lines()
            answered += len(lines)
            following = requests[sent : sent + len(lines)]
            sent += len(following)
            if following:
                self.send(b"".join(following))
        seconds = time.perf_counter() - before
        check(json.loads(lines[-1]))
        return seconds

    def processes(self):
        """The ids of the server and of the processes that it has started: they inherit the mark."""
        mark, found = self.mark.encode(), []
        for path in pathlib.Path("/proc").iterdir():
            try:
                if path.name.isdigit() and mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append(path)
            except OSError:
                continue
        return found

    def cpu(self):
        """The seconds of processor time so far: of all processes, and of those that are not `pmcp`."""
        total = tools = 0
        for path in self.processes():
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            ticks = int(fields[11]) + int(fields[12])
            total += ticks
            tools += 0 if (path / "exe").resolve().name.startswith("pmcp") else ticks
        return total / TICK, tools / TICK

    def memory(self):
        """MB that are in memory, with a share of those that others map, too."""
        total = 0
        for path in self.processes():
            text = (path / "smaps_rollup").read_text()
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        return total / 1024

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def check(answer):
    if answer["result"]["content"][0]["text"] != "5" or answer["result"].get("isError"):
        sys.exit(f"a wrong answer: {answer}")


def measure(command, environment, folder, calls):
    """One round with one subject."""
    server = Server(command, environment, folder)
    found = {"start_ms": server.begin() * 1e3}
    server.at_once("add", calls // 4, 16)
    before, before_tools = server.cpu()
    each = sorted(server.one_at_a_time("add", calls))
    found["p50_us"] = each[len(each) // 2] * 1e6
    found["p99_us"] = each[len(each) * 99 // 100] * 1e6
    found["per_second_1"] = calls / sum(each)
    after, after_tools = server.cpu()
    found["cpu_us_1"] = (after - before) / calls * 1e6
    found["cpu_tools_us_1"] = (after_tools - before_tools) / calls * 1e6
    for width in (16, 64):
        before, before_tools = server.cpu()
        found[f"per_second_{width}"] = calls / server.at_once("add", calls, width)
        after, after_tools = server.cpu()
        found[f"cpu_us_{width}"] = (after - before) / calls * 1e6
        found[f"cpu_tools_us_{width}"] = (after_tools - before_tools) / calls * 1e6
    found["async_per_second_64"] = calls / server.at_once("add_later", calls, 64)
    found["memory_mb"] = server.memory()
    server.end()
    return found


COLUMNS = {
    "start to first answer, ms": "start_ms",
    "p50, µs": "p50_us",
    "p99, µs": "p99_us",
    "CPU per call, µs": "cpu_us_1",
    "of that not pmcp": "cpu_tools_us_1",
    "calls/s, 1": "per_second_1",
    "16 at once": "per_second_16",
    "64 at once": "per_second_64",
    "64 async": "async_per_second_64",
    "CPU per call of 64, µs": "cpu_us_64",
    "of that not pmcp's": "cpu_tools_us_64",
    "memory, MB": "memory_mb",
}


def table(rounds):
    """The medians of each subject, as Markdown."""
    lines = ["| stdio | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for name, found in rounds.items():
        cells = (f"{statistics.median(each[key] for each in found):,.0f}" for key in COLUMNS.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pmcp", type=pathlib.Path, default=ROOT / "target/release/pmcp")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "bench-results/sdks.json")
    options = parser.parse_args()
    if not options.pmcp.exists():
        parser.error(f"there is no {options.pmcp}: cargo build --release -p protomcp-cli")
    with tempfile.TemporaryDirectory(prefix="pmcp-") as temporary:
        folder = pathlib.Path(temporary)
        prepare(folder)
        compared = subjects(options.pmcp.resolve(), folder)
        rounds = {name: [] for name in compared}
        loads = []
        for _ in range(options.rounds):
            loads.append(os.getloadavg()[0])
            for name, (command, environment) in compared.items():
                rounds[name].append(measure(command, environment, folder, options.calls))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"calls": options.calls, "load": loads, "rounds": rounds}, indent=1) + "\n")
    print(table(rounds))
    print(f"\n{options.rounds} rounds of {options.calls} calls; load at the start of each: {loads}")


if __name__ == "__main__":
    main()
