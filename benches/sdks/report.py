"""The numbers of the bench as tables, and the goals that they meet or miss."""

import statistics
import textwrap

BEGIN = "<!-- written by benches/sdks/run.py -->"
END = "<!-- to here -->"

LOAD = {
    "p50, µs": "p50_us",
    "p99, µs": "p99_us",
    "CPU per call, µs": "cpu_us_1",
    "of that not pmcp": "cpu_tools_us_1",
    "64 in flight, calls/s": "per_second_64",
    "async": "async_per_second_64",
    "CPU per call of 64, µs": "cpu_us_64",
    "of that not pmcp's": "cpu_tools_us_64",
    "memory, MB": "memory_mb",
}
START = {
    "start to tools/list, ms": "list_ms",
    "without async tools": "plain_list_ms",
    "the same, lent": "lent_list_ms",
    "bare interpreter": "bare_ms",
    "import, ms": "import_ms",
    "bare interpreter, MB": "bare_mb",
    "import, MB": "import_mb",
}
OURS, PUBLISHED, OFFICIAL, FAST = (
    "Python, sdk/python",
    "Python, published protomcp 0.3.1",
    "Python, official SDK",
    "Python, FastMCP",
)
NODE, NODE_OFFICIAL, NATIVE = "Node, sdk/typescript", "Node, official SDK", "native, protomcp-sdk"


def median(rounds, key):
    """None if the subject has no such number."""
    found = [each[key] for each in rounds if key in each]
    return statistics.median(found) if found else None


def table(title, part, columns):
    """Columns that no subject has are left out."""
    measured = {key for key in columns.values() if any(median(each, key) is not None for each in part.values())}
    columns = {title: key for title, key in columns.items() if key in measured}
    lines = [f"| {title} | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, rounds in part.items():
        cells = (median(rounds, key) for key in columns.values())
        lines.append(f"| {name} | " + " | ".join("" if each is None else f"{each:,.0f}" for each in cells) + " |")
    return "\n".join(lines)


def text(results):
    """The part of the README. Parts that were measured in one run share a paragraph about it."""
    runs = []
    for part, found in results.items():
        run = {key: found[key] for key in ("machine", "calls", "rounds", "load")}
        known = next((names for names, other in runs if other == run), None)
        if known is None:
            runs.append(([part], run))
        else:
            known.append(part)
    parts = [
        "`benches/sdks/run.py`: medians of rounds in which the subjects took turns. All numbers are in "
        "[sdks/results.json](sdks/results.json). The official SDKs and FastMCP are the server themselves; the others "
        "are behind `pmcp`. A goal compares medians; in brackets, the medians of the processor time per call of all "
        "processes of a server, which depend less on what else runs."
    ]
    parts.extend(about("All parts" if len(runs) == 1 else ", ".join(names), run) for names, run in runs)
    parts = [textwrap.fill(each, 120, break_long_words=False, break_on_hyphens=False) for each in parts]
    subjects = {part: found["subjects"] for part, found in results.items()}
    if "stdio" in subjects:
        parts.append(table("stdio", subjects["stdio"], LOAD))
    if "http" in subjects:
        parts.append(table("HTTP, a session for each client", subjects["http"], LOAD))
    if "start" in subjects:
        parts.append(table("start", subjects["start"], START))
    if rows := goals(subjects):
        parts.append("\n".join(["| goal | measured | |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


def about(names, run):
    """The circumstances of a run."""
    machine = run["machine"]
    load = ", ".join(f"{each:.1f}" for each in run["load"])
    return (
        f"{names}: {run['rounds']} rounds of {run['calls']:,} calls. {machine['processors']}, {machine['system']}, Python "
        f"{machine['python']}, Node {machine['node']}, {machine['month']}; pmcp is {article(machine['build'])}. The load "
        f"of the machine at the start of the rounds: {load}."
    )


def article(build):
    return f"a {build} build" if build == "release" else build


def goals(results):
    rows = []

    def row(goal, measured, is_met):
        rows.append(f"| {goal} | {measured} | {'met' if is_met else '**missed**'} |")

    for part, name in [("stdio", "stdio"), ("http", "HTTP")]:
        if part not in results:
            continue
        rate = {who: median(rounds, "per_second_64") for who, rounds in results[part].items()}
        single = {who: median(rounds, "p50_us") for who, rounds in results[part].items()}
        cpu = {who: median(rounds, "cpu_us_64") for who, rounds in results[part].items()}
        for other, factor in [(PUBLISHED, 8), (OFFICIAL, 20), (FAST, 20), (NATIVE, 0.5)]:
            if other in rate:
                ratio = rate[OURS] / rate[other]
                measured = f"{ratio:.1f} × ({cpu[other] / cpu[OURS]:.1f} ×)"
                row(f"{name}, 64 in flight: at least {factor:g} × {other}", measured, ratio >= factor)
        others = min((PUBLISHED, OFFICIAL, FAST), key=single.get)
        row(
            f"{name}, one at a time: the fastest of the four in Python",
            f"{single[OURS]:,.0f} µs; {others} {single[others]:,.0f} µs",
            single[OURS] <= single[others],
        )
        ratio = rate[NODE] / rate[NODE_OFFICIAL]
        measured = f"{ratio:.1f} × ({cpu[NODE_OFFICIAL] / cpu[NODE]:.1f} ×)"
        row(f"{name}, 64 in flight: Node, faster than the official SDK", measured, ratio >= 1)
    if "start" in results:
        for name, who in [("Python", OURS), ("Node", NODE)]:
            found = results["start"].get(who, [])
            lent, bare = median(found, "lent_list_ms"), median(found, "bare_ms")
            if lent is None or bare is None:
                continue
            more = lent - bare
            goal = f"{name}, a plain file with the lent SDK: start within 40 ms of the bare interpreter"
            row(goal, f"{more:.0f} ms", more <= 40)
    return rows


def write(path, text):
    """Puts the text between its marks."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{path} has no marks: {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
