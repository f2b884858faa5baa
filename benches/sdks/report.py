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
    lines = [f"| {title} | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, rounds in part.items():
        cells = (median(rounds, key) for key in columns.values())
        lines.append(f"| {name} | " + " | ".join("" if each is None else f"{each:,.0f}" for each in cells) + " |")
    return "\n".join(lines)


def text(results):
    """The part of the README."""
    machine = results["machine"]
    about = (
        f"`benches/sdks/run.py`: medians of {results['rounds']} rounds of {results['calls']:,} calls, in which the "
        f"subjects took turns. {machine['processors']}, {machine['system']}, Python {machine['python']}, Node "
        f"{machine['node']}, {machine['month']}; pmcp is {article(machine['build'])}. The load of the machine at the "
        f"start of the rounds: {', '.join(f'{each:.1f}' for each in results['load'])}. All numbers are in "
        "[sdks/results.json](sdks/results.json). The official SDKs and FastMCP are the server themselves; the others "
        "are behind `pmcp`. A goal compares medians; in brackets, the medians of the processor time per call of all "
        "processes of a server, which depend less on what else runs."
    )
    parts = [textwrap.fill(about, 120, break_long_words=False, break_on_hyphens=False)]
    if "stdio" in results:
        parts.append(table("stdio", results["stdio"], LOAD))
    if "http" in results:
        parts.append(table("HTTP, a session for each client", results["http"], LOAD))
    if "start" in results:
        parts.append(table("start", results["start"], START))
    if rows := goals(results):
        parts.append("\n".join(["| goal | measured | |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


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
            found = results["start"][who]
            more = median(found, "lent_list_ms") - median(found, "bare_ms")
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
