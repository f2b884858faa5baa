"""Descriptions of parameters in docstrings: in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

# They are compiled when the first docstring is read, not at each start; `re` keeps them.
_SECTION = r"^(?i:Args|Arguments|Parameters|Params):?$"
_GOOGLE = r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$"
_NUMPY = r"^(\w+)\s*(?::.*)?$"
_SPHINX = r"^:param\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$"


def summary(text: str) -> str:
    """The text before the first section."""
    if not text:
        return ""
    import re

    lines = []
    for line in _lines(text):
        if (
            re.match(_SECTION, line.strip())
            or re.match(_SPHINX, line.strip())
            or line.strip() in ("Returns:", "Raises:")
        ):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def parameters(text: str) -> dict[str, str]:
    """The descriptions of parameters, by name."""
    if not text:
        return {}
    import re

    found: dict[str, str] = {}
    lines = _lines(text)
    for at, line in enumerate(lines):
        if match := re.match(_SPHINX, line.strip()):
            rest = [each.strip() for each in _deeper(lines[at + 1 :], _indent(line))]
            found[match[1]] = " ".join([match[2], *rest]).strip()
        elif re.match(_SECTION, line.strip()):
            following = lines[at + 1 :]
            if following and following[0].strip() and set(following[0].strip()) == {"-"}:
                _read(following[1:], _indent(line) - 1, _NUMPY, found)
            else:
                _read(following, _indent(line), _GOOGLE, found)
    return found


def _read(lines: list[str], outer: int, pattern: str, found: dict[str, str]) -> None:
    """The entries of a section: those that are indented like its first line."""
    import re

    first = next((line for line in lines if line.strip()), "")
    level = _indent(first)
    if level <= outer:
        return
    name = ""
    for line in lines:
        if not line.strip():
            continue
        if _indent(line) < level:
            return
        if _indent(line) == level:
            match = re.match(pattern, line.strip())
            if match is None:
                return
            name = match[1].lstrip("*")
            found[name] = match[2].strip() if pattern is _GOOGLE else ""
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()


def _deeper(lines: list[str], level: int) -> list[str]:
    found = []
    for line in lines:
        if not line.strip() or _indent(line) <= level:
            break
        found.append(line)
    return found


def _lines(text: str) -> list[str]:
    """The lines without the indentation of the source."""
    lines = text.expandtabs().splitlines()
    margin = min((_indent(line) for line in lines[1:] if line.strip()), default=0)
    return [line.strip() if at == 0 else line[margin:].rstrip() for at, line in enumerate(lines)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
