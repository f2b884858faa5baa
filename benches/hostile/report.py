"""The table of the attacks, in the words of the documents."""

BEGIN = "<!-- attacks: made by benches/hostile/run.py -->"
END = "<!-- end of attacks -->"

# By name: what is attacked and how, and the row that bounds it.
ATTACKS = {
    "mismatches": (
        "a call that fits no choice of a union which contains itself: time and peak memory of `pmcp`",
        "the check of arguments against their schema",
    ),
    "pings": (
        "pings of WebSocket for 6 s from a peer that reads nothing: growth of `pmcp`",
        "bytes of a conversation over WebSocket that are ready to be written",
    ),
    "fitting": (
        "a call that fits such a union: time until the answer",
        "the arguments of a call, in the SDKs for Python and TypeScript",
    ),
    "templates": (
        "a URI of slashes for the template `doc://{+a}/{+b}/{+c}/x`: time until the answer",
        "a URI that is matched against templates",
    ),
    "privacy": (
        "messages of a server to one user after its answer, in a session that two share: those that reach the other",
        "time after an answer for one user for which late messages reach no other",
    ),
    "pattern": (
        "a text that fits a `pattern` on the last of many ways, in TypeScript: time until the answer",
        "a text in arguments that has a `pattern`",
    ),
    "long_answer": (
        "a line of 65 MiB from a server on standard output, in a call of 12 s: time until its error, peak memory",
        "a line of a server on standard output",
    ),
    "errors": (
        "an error of a handler that has no text, or is not an `Exception`: the calls that are answered",
        "[Trust](../SECURITY.md#trust): the tool file",
    ),
    "numbers": (
        "numbers that a double or an integer of Python cannot hold: the answer",
        "[Limits](#limits): a number in the arguments of a Python or TypeScript tool",
    ),
    "junk": (
        "100,000 lines of a server that are not messages: lines of the log",
        "log lines about text on the standard output of a server",
    ),
    "resumptions": (
        "a server that ends each stream after an empty event: requests to resume it",
        "pauses between attempts to resume a stream whose events have no data",
    ),
}


def machine(results):
    """The circumstances of both runs, in one line each."""
    said = []
    for build in ("before", "after"):
        found = results.get("builds", {}).get(build)
        if found:
            said.append(f"- {build}: {found}")
    return "\n".join(said)


def table(results):
    rows = ["| attack | before | after | bound |", "|---|---|---|---|"]
    for name, (title, bound) in ATTACKS.items():
        found = results["attacks"].get(name, {})
        texts = [found.get(build, {}).get("text", "") for build in ("before", "after")]
        rows.append(f"| {title} | {texts[0]} | {texts[1]} | {bound} |")
    return "\n".join([*rows, "", machine(results)])


def write(path, text):
    """Puts the text between its marks."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{path} has no marks: {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
