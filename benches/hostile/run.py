#!/usr/bin/env python3
"""Attacks `pmcp` and its SDKs as hostile users, servers and arguments do, and writes down what that costs.

Usage: benches/hostile/run.py [--before PATH --sdk-before DIR] [--after PATH] [--sdk-after DIR]
                              [--attack NAME]... [--memory MIB] [--write]

PATH is a program `pmcp`, DIR the tree that it was built from: the SDKs in it are attacked behind it. The programs are
attacked in turn. Each attack ends after some seconds, or as soon as a process has more than this many MiB (1,024) in
memory, and says so. Wants scripts/setup sdk-python, for its Python, and Node.

The figures are written to benches/hostile/results.json; the ones of other attacks and of a
program that is not named stay. With --write the table in docs/limits.md is written, too; without a program nothing is
attacked. A figure is one measurement: the orders of magnitude count.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import sys
import tempfile
import time

import attacks
import report
import sdk_attacks
from programs import MIB, Build

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"


def function(name):
    return getattr(attacks, name, None) or getattr(sdk_attacks, name)


def prepare(folder, build):
    """The files of an attack, and the package for Node."""
    for path in (HERE / "tools").glob("*.*"):
        shutil.copy(path, folder)
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "protomcp").symlink_to(build.tree / "sdk/typescript")


def attack(name, build):
    with tempfile.TemporaryDirectory(prefix="pmcp-") as temporary:
        folder = pathlib.Path(temporary)
        prepare(folder, build)
        found = function(name)(build, folder)
    return found | {"load": round(os.getloadavg()[0], 1)}


def circumstances(build):
    """Of a program under attack, for the line below the table."""
    kind = "an optimized build" if "release" in build.pmcp.parts else "a build without optimization"
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return (
        f"{kind}, {os.cpu_count()} processors, {system}, Python {platform.python_version()}, {time.strftime('%B %Y')}"
    )


def builds(options, parser):
    python = ROOT / ".peers/sdk-python/bin/python"
    if not python.exists():
        parser.error(f"there is no {python}: scripts/setup sdk-python")
    found = []
    for label, pmcp, tree in [
        ("before", options.before, options.sdk_before),
        ("after", options.after, options.sdk_after),
    ]:
        if pmcp is None:
            continue
        if not pmcp.is_file():
            parser.error(f"there is no {pmcp}")
        if tree is None or not (tree / "sdk/python/src").is_dir():
            parser.error(f"--sdk-{label} is the tree that {pmcp} was built from")
        found.append(Build(label, pmcp, tree, options.memory * MIB, str(python)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--sdk-before", type=pathlib.Path)
    parser.add_argument("--after", "--pmcp", type=pathlib.Path)
    parser.add_argument("--sdk-after", type=pathlib.Path, default=ROOT)
    parser.add_argument("--attack", action="append", choices=report.ATTACKS)
    parser.add_argument("--memory", type=int, default=1024)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    compared = builds(options, parser)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"builds": {}, "attacks": {}}
    for name in options.attack or report.ATTACKS:
        for build in compared:
            print(f"{name}: {build.label}", file=sys.stderr)
            try:
                found = attack(name, build)
            except (RuntimeError, OSError) as error:
                print(f"  not measured: {error}", file=sys.stderr)
                continue
            print(f"  {found['text']}", file=sys.stderr)
            results["attacks"].setdefault(name, {})[build.label] = found
            results["builds"][build.label] = circumstances(build)
            RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    if options.write:
        report.write(ROOT / "docs/limits.md", report.table(results))
    else:
        print(report.table(results))


if __name__ == "__main__":
    main()
