"""Attacks on the SDKs for Python and TypeScript behind `pmcp`, over standard input and output."""

import json
import time

from programs import Piped, call, request, text_of
from words import duration, figures, quoted

# The seconds after which an attack is ended.
PATIENCE = 15

TOOLS = {"Python": "tools.py", "TypeScript": "tools.mjs"}


def tree(levels, innermost):
    """A condition of this many levels, in 25 bytes each."""
    return {"op": "not", "kids": [tree(levels - 1, innermost)]} if levels else innermost


def condition(number, length, innermost):
    """A call whose condition has about this many bytes."""
    levels = (length - len(json.dumps(innermost))) // 25
    return call(number, "condition", node=tree(levels, innermost))


def with_a_beat(server, message, seconds):
    """The seconds of a request, and of a call of `beat` that follows 0.2 s later; None where none is answered."""
    began = time.perf_counter()
    server.send(message)
    time.sleep(0.2)
    second = time.perf_counter()
    server.send(call("beat", "beat"))
    found = server.answer(message["id"], seconds)
    other = server.answer("beat", 1 if found else 0.001)
    return (found[0] - began if found else None), (other[0] - second if other else None)


def fitting(build, folder):
    """Arguments that fit a union which contains itself."""
    found = {}
    for language, file in TOOLS.items():
        for length in (275, 325):
            with Piped(build, folder, file).begin() as server:
                message = condition(1, length, {"op": "not", "kids": []})
                found[f"{language}, {length} B"] = server.timed(message, PATIENCE)[0]
    return figures(found, {name: duration(each, PATIENCE) for name, each in found.items()})


def templates(build, folder):
    """URIs of slashes that almost fit a template."""
    found, texts = {}, {}
    for language, file, length in (("Python", "tools.py", 1606), ("TypeScript", "tools.mjs", 8006)):
        with Piped(build, folder, file).begin() as server:
            message = request(1, "resources/read", uri="doc://" + "/" * (length - 6))
            seconds, other = with_a_beat(server, message, PATIENCE)
        name = f"{language}, {length:,} B"
        found[name] = seconds
        found[f"{name}, the concurrent call"] = other
        texts[name] = f"{duration(seconds, PATIENCE)} (a concurrent call {duration(other, PATIENCE)})"
    return figures(found, texts)


def pattern(build, folder):
    """A text that fits a pattern on the last of many ways."""
    with Piped(build, folder, "tools.mjs").begin() as server:
        message = call(1, "pattern", s="a" * 32 + "!")
        length = len(json.dumps(message["params"]["arguments"], separators=(",", ":")))
        seconds, other = with_a_beat(server, message, PATIENCE)
    text = f"{duration(seconds, PATIENCE)} (a concurrent call {duration(other, PATIENCE)})"
    return figures({"seconds": seconds, "the concurrent call": other}, {f"{length} B": text})


def errors(build, folder):
    """Errors of handlers without a text, and such that are not an `Exception`, while another call runs."""
    found, texts = {}, {}
    attacks = [("Python", "unsayable"), ("Python", "last"), ("TypeScript", "unsayable")]
    for language, tool in attacks:
        with Piped(build, folder, TOOLS[language]).begin() as server:
            server.send(call("running", "slow"))
            time.sleep(0.5)
            _, own = server.timed(call(1, tool), PATIENCE)
            running = server.answer("running", PATIENCE)
            lost = running is None or text_of(running[1]) != "slow"
            seconds, following = server.timed(call(2, "beat"), PATIENCE)
        name = f"{language}, {'no text' if tool == 'unsayable' else 'no Exception'}"
        found[name] = {
            "answer": own,
            "the concurrent call is lost": lost,
            "the next call": following,
            "seconds": seconds,
        }
        outcomes = [(own is not None, "that call"), (not lost, "the concurrent one"), (following == "beat", "the next")]
        served = [call for is_served, call in outcomes if is_served]
        texts[name] = "all three" if len(served) == 3 else " and ".join(served)
    return figures(found, texts)


def numbers(build, folder):
    """Numbers beyond the language's."""
    found, texts = {}, {}
    attacks = [
        ("10^400", "number", "x", "1" + "0" * 400),
        ("1e999", "number", "x", "1e999"),
        ("4,301 digits", "integer", "n", "9" * 4301),
    ]
    for language, file in TOOLS.items():
        for what, tool, name, text in attacks:
            with Piped(build, folder, file).begin() as server:
                # The number is written as it is: JSON has no bound, other than the encoder of Python.
                line = json.dumps(call(1, tool, **{name: "HERE"})).replace('"HERE"', text)
                server.process.stdin.write(line.encode() + b"\n")
                server.process.stdin.flush()
                answer = server.answer(1, PATIENCE)
            said = text_of(answer[1]) if answer else None
            found[f"{language}, {what}"] = said
            # The part about the argument.
            short = said and said.rpartition("\n- ")[2].partition(", got")[0]
            texts.setdefault((language, quoted(short)), []).append(what)
    return figures(found, {f"{who}, {', '.join(which)}": said for (who, said), which in texts.items()})
