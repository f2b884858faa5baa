"""Figures in words."""

MIB = 1 << 20


def duration(seconds, patience):
    """Such as 0.03 s; None: there was no answer in the time of an attack."""
    if seconds is None:
        return f"none in {patience} s"
    return f"{seconds:.1f} s" if seconds >= 0.95 else f"{seconds:.2f} s"


def size(count):
    """Such as 1,434 MiB."""
    return f"{count / MIB:,.0f} MiB"


def quoted(text, most=70):
    """The beginning of an answer."""
    if text is None:
        return "no answer"
    line = " ".join(text.split())
    line = line if len(line) <= most else line[:most].rstrip() + "…"
    return "“" + line.replace("|", "\\|") + "”"


def figures(found, texts):
    """The outcome of an attack: its figures, and the same in words."""
    return {"figures": found, "text": "; ".join(f"{name}: {text}" if name else text for name, text in texts.items())}
