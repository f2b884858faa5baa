#!/usr/bin/env python3
"""Measures the SDKs for Python and TypeScript behind `pmcp` in comparison with their peers, over stdio and HTTP.

Each subject is a tool that adds two numbers, with its arguments checked and a context. The subjects take turns, so that a
busy machine is unfair to none of them; the tables show medians.

Usage: benches/sdks/run.py [--pmcp PATH] [--rounds N] [--calls N] [--part PART]... [--print]

`pmcp` is target/release/pmcp; a native tool is measured, too, if `examples/tools` lies next to it (cargo build
--release --workspace --all-features --bins --examples). Wants scripts/setup py mcp node sdk-python sdk-typescript. A PART is stdio,
http or start; without one all are measured. Each part's numbers and circumstances replace the part's in
benches/sdks/results.json, the other parts stay, and the tables of all are written to benches/README.md. With --print
the tables of the measured parts are printed, and nothing is written.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import report
from servers import Piped, Web

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEERS = ROOT / ".peers"
PARTS = ("start", "stdio", "http")


class Subject:
    """A server to measure. `import_command` loads its SDK and nothing else."""

    def __init__(self, command, environment=None, import_command=None, *, is_behind_pmcp=True):
        self.command = command
        self.environment = environment or {}
        self.import_command = import_command
        self.is_behind_pmcp = is_behind_pmcp
        # The file of the bench without an async tool, where the subject has one.
        self.plain = None
        # The command for such a file with the SDK that pmcp lends, and its environment.
        self.lent = None

    def piped(self, folder):
        return Piped(self.command, self.environment, folder)

    def web(self, folder):
        if self.is_behind_pmcp:
            return Web([*self.command, "--transport", "http", "--port", "0"], self.environment, folder, None)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        return Web([*self.command, port], self.environment, folder, port)


def subjects(pmcp, folder):
    """By name."""
    python, published, peer = (PEERS / f"{name}/bin/python" for name in ("sdk-python", "py", "mcp"))
    ours = {"PROTOMCP_PYTHON": python, "PYTHONPATH": folder / "sdk"}
    node = shutil.which("node")
    found = {
        "Python, sdk/python": Subject(
            [pmcp, "run", folder / "tools.py"], ours, [python, "-c", "import protomcp"]
        ),
        "Python, published protomcp 0.3.1": Subject(
            [pmcp, "run", folder / "tools.py"], {"PROTOMCP_PYTHON": published}, [published, "-c", "import protomcp"]
        ),
        "Python, official SDK": Subject(
            [peer, folder / "official.py"],
            None,
            [peer, "-c", "from mcp.server.mcpserver import MCPServer"],
            is_behind_pmcp=False,
        ),
        "Python, FastMCP": Subject(
            [peer, folder / "fast.py"], None, [peer, "-c", "import fastmcp; fastmcp.FastMCP"], is_behind_pmcp=False
        ),
        "Node, sdk/typescript": Subject(
            [pmcp, "run", folder / "tools.mjs"],
            None,
            [node, "--input-type=module", "-e", 'import "protomcp"; process.exit()'],
        ),
        "Node, official SDK": Subject(
            [node, folder / "official.mjs"],
            None,
            [
                node,
                "--input-type=module",
                "-e",
                'import "@modelcontextprotocol/sdk/server/mcp.js"; '
                'import "@modelcontextprotocol/sdk/server/stdio.js"; process.exit()',
            ],
            is_behind_pmcp=False,
        ),
    }
    for name in list(found)[:2]:
        found[name].plain = folder / "plain.py"
    lent = [pmcp, "run", "--sdk", "bundled"]
    # Compiled files are kept from the first round on, also where the variable says otherwise for other programs.
    compiled = {"PYTHONDONTWRITEBYTECODE": ""}
    found["Python, sdk/python"].lent = [*lent, folder / "plain.py"], {"PROTOMCP_PYTHON": python, **compiled}
    found["Node, sdk/typescript"].lent = [*lent, folder / "plain.mjs"], None
    native = pmcp.parent / "examples/tools"
    if native.exists():
        found["native, protomcp-sdk"] = Subject([pmcp, "run", native])
    return found


def prepare(folder):
    """A folder with the files of the bench, the packages for Node, and the SDK for Python, compiled as pip does it."""
    for path in (HERE / "tools").glob("*.*"):
        shutil.copy(path, folder)
    shutil.copytree(ROOT / "sdk/python/src", folder / "sdk", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([PEERS / "sdk-python/bin/python", "-m", "compileall", "-q", folder / "sdk"], check=True)
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "protomcp").symlink_to(ROOT / "sdk/typescript")
    for name in ["zod", "@modelcontextprotocol"]:
        (modules / name).symlink_to((PEERS / "node/node_modules" / name).resolve())


def load(server, calls):
    """Calls one at a time, and with many under way."""
    server.concurrently("add", max(calls // 4, 64), 64)
    found = {}
    before, before_tools = server.cpu()
    each = sorted(server.one_at_a_time("add", calls))
    after, after_tools = server.cpu()
    found["p50_us"] = each[len(each) // 2] * 1e6
    found["p99_us"] = each[len(each) * 99 // 100] * 1e6
    found["per_second_1"] = calls / sum(each)
    found["cpu_us_1"] = (after - before) / calls * 1e6
    found["cpu_tools_us_1"] = (after_tools - before_tools) / calls * 1e6
    before, before_tools = server.cpu()
    found["per_second_64"] = calls / server.concurrently("add", calls, 64)
    after, after_tools = server.cpu()
    found["cpu_us_64"] = (after - before) / calls * 1e6
    found["cpu_tools_us_64"] = (after_tools - before_tools) / calls * 1e6
    return found


def measure(name, part, subject, folder, calls):
    """One round with one subject."""
    if part == "start":
        return start(subject, folder)
    server = subject.piped(folder) if part == "stdio" else subject.web(folder)
    found = {"list_ms": server.begin() * 1e3}
    found |= load(server, calls)
    if not name.startswith("native"):
        found["async_per_second_64"] = calls / server.concurrently("add_later", calls, 64)
    found["memory_mb"] = server.memory()
    server.end()
    return found


def start(subject, folder):
    """From the start to the list of tools, and the import of the SDK alone. One that is too quick is a mistake."""
    found = {}
    commands = {"list_ms": (subject.command, subject.environment)}
    if subject.plain:
        commands["plain_list_ms"] = [*subject.command[:-1], subject.plain], subject.environment
    if subject.lent:
        commands["lent_list_ms"] = subject.lent
    for key, (command, environment) in commands.items():
        server = Piped(command, environment or {}, folder)
        found[key] = server.begin() * 1e3
        server.end()
    if subject.import_command:
        variables = dict(os.environ) | {key: str(each) for key, each in subject.environment.items()}
        program = subject.import_command[0]
        bare = [program, "-c", "pass"] if "python" in pathlib.Path(program).name else [program, "-e", ""]
        for key, command in [("bare", bare), ("import", subject.import_command)]:
            before = time.perf_counter()
            process = subprocess.Popen([str(word) for word in command], env=variables, cwd=folder)
            _, status, usage = os.wait4(process.pid, 0)
            found[f"{key}_ms"] = (time.perf_counter() - before) * 1e3
            found[f"{key}_mb"] = usage.ru_maxrss / 1024
            process.returncode = status
            if status:
                sys.exit(f"this fails: {command}")
    return found


def machine(pmcp):
    """The circumstances of a run."""
    model = next((line.partition(": ")[2] for line in open("/proc/cpuinfo") if line.startswith("model name")), "")

    def version(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1].lstrip("v")

    return {
        "processors": f"{os.cpu_count()} × {model.strip()}",
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": version(PEERS / "sdk-python/bin/python", "--version"),
        "node": version("node", "--version"),
        "build": "release" if "release" in pmcp.parts else "not a release build",
        "month": time.strftime("%B %Y"),
    }


def merged(known, measured):
    """All parts in their order, the measured ones in place of the known ones."""
    return {part: (known | measured)[part] for part in PARTS if part in known or part in measured}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pmcp", type=pathlib.Path, default=ROOT / "target/release/pmcp")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    if not options.pmcp.exists():
        parser.error(f"there is no {options.pmcp}: cargo build --release --workspace --all-features --bins --examples")
    pmcp = options.pmcp.resolve()
    about = {"machine": machine(pmcp), "calls": options.calls, "rounds": options.rounds, "load": []}
    measured = {}
    with tempfile.TemporaryDirectory(prefix="pmcp-") as temporary:
        folder = pathlib.Path(temporary)
        prepare(folder)
        compared = subjects(pmcp, folder)
        for part in options.part or PARTS:
            measured[part] = about | {"subjects": {name: [] for name in compared}}
        for _ in range(options.rounds):
            # The parts of a run share this list.
            about["load"].append(os.getloadavg()[0])
            for part in options.part or PARTS:
                for name, subject in compared.items():
                    print(f"{part}: {name}", file=sys.stderr)
                    measured[part]["subjects"][name].append(measure(name, part, subject, folder, options.calls))
    if options.print:
        print(report.text(measured))
        return
    path = HERE / "results.json"
    results = merged(json.loads(path.read_text()) if path.exists() else {}, measured)
    path.write_text(json.dumps(results, indent=1) + "\n")
    report.write(ROOT / "benches/README.md", report.text(results))


if __name__ == "__main__":
    main()
