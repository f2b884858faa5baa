"""URIs in the form in which they are compared (RFC 3986, 6.2.2), and templates of RFC 6570.

A template is a list of pieces: a text, and a gap for a value. A table says from which piece and position the rest of a
URI can be matched; it is filled from the end of the URI, so the work is at most the product of the two lengths, for any
template and any URI.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

# A character that is percent-encoded, or has to be: all but the unreserved and the reserved ones. Of the reserved ones,
# brackets stand raw in hosts alone (RFC 3986, 3.2.2), and some clients encode them.
_UNIT = re.compile(r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=]")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")


def encoded(text: str) -> str:
    """The encoded form of a URI, or of a literal of a template (RFC 6570, 3.1): digits of escapes are upper case, and
    unreserved characters raw.
    """
    return _UNIT.sub(_encoded_unit, text)


def _encoded_unit(found: re.Match[str]) -> str:
    if found[1] is None:
        return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))
    character = chr(int(found[1], 16))
    return character if _UNRESERVED.match(character) else found[0].upper()


class _Piece:
    """One of several texts, and a gap for the value of `name`, if that is given.

    The value has none of the characters of `without`, and at least `least`.
    """

    __slots__ = ("is_optional", "least", "name", "texts", "without")

    def __init__(
        self, texts: tuple[str, ...], name: str | None = None, without: str = "", *, is_optional: bool = False
    ) -> None:
        self.texts = texts
        self.name = name
        self.without = without
        self.least = 0 if is_optional else 1
        self.is_optional = is_optional


_templates: dict[str, list[_Piece]] = {}


def match(template: str, uri: str) -> dict[str, str] | None:
    """The values of the variables of an RFC 6570 template in a URI; None if it does not match.

    `{name}` takes what has no slash, `{+name}` and `{#name}` anything, and `{name*}` any number of segments.
    """
    pieces = _templates.get(template)
    if pieces is None:
        pieces = _templates[template] = _compile(template)
    form = encoded(uri)
    # Most URIs differ from most templates in the first letters.
    if pieces and not pieces[0].is_optional and not form.startswith(pieces[0].texts[0]):
        return None
    return _Match(pieces, uri, form).values()


class _Match:
    """The search for the pieces of a template in one URI.

    `form` is its encoded form, `places` the position in the URI for each position in the form. Inside of a character
    that is encoded there is none: -1.
    """

    def __init__(self, pieces: list[_Piece], uri: str, form: str) -> None:
        self.pieces = pieces
        self.uri = uri
        self.form = form
        self.places = _places(uri)

    def values(self) -> dict[str, str] | None:
        rows = self._rows()
        if not rows[0][0]:
            return None
        found: dict[str, str] = {}
        at = 0
        for piece, after in zip(self.pieces, rows[1:], strict=True):
            span = self._take(piece, at, after)
            # A piece that is optional has been left out.
            if span is not None:
                start, at = span
                if piece.name is not None:
                    found[piece.name] = unquote(self.uri[self.places[start] : self.places[at]])
        return found

    def _rows(self) -> list[bytearray]:
        """For each piece and position, 1 if this piece and those behind it match the rest; and a row for the end."""
        form, places = self.form, self.places
        after = bytearray(len(form) + 1)
        after[-1] = 1
        rows = [after]
        for piece in reversed(self.pieces):
            begins = after if piece.name is None else self._beginnings(piece, after)
            row = bytearray(after) if piece.is_optional else bytearray(len(form) + 1)
            for text in piece.texts:
                at = form.find(text)
                while at >= 0:
                    end = at + len(text)
                    if begins[end] and places[at] >= 0 and places[end] >= 0:
                        row[at] = 1
                    at = form.find(text, at + 1)
            rows.append(row)
            after = row
        rows.reverse()
        return rows

    def _beginnings(self, piece: _Piece, after: bytearray) -> bytearray:
        """The positions at which a gap can begin that ends at one of `after`."""
        form, places, without = self.form, self.places, piece.without
        row = bytearray(len(form) + 1) if piece.least else bytearray(after)
        is_open = False
        for at in range(len(form) - 1, -1, -1):
            if form[at] in without:
                is_open = False
            elif is_open or (after[at + 1] and places[at + 1] >= 0):
                is_open = True
                row[at] = 1
        return row

    def _take(self, piece: _Piece, at: int, after: bytearray) -> tuple[int, int] | None:
        """The begin and the end of the value of a piece: the longest after which the rest can be matched."""
        form, places = self.form, self.places
        text = next((each for each in piece.texts if form.startswith(each, at)), None)
        if text is None or places[start := at + len(text)] < 0:
            return None
        if piece.name is None:
            return (start, start) if after[start] else None
        last = -1
        for end in range(start, len(form) + 1):
            if end >= start + piece.least and after[end] and places[end] >= 0:
                last = end
            if end < len(form) and form[end] in piece.without:
                break
        return (start, last) if last >= 0 else None


def _places(uri: str) -> list[int]:
    places: list[int] = []
    last = 0
    for found in _UNIT.finditer(uri):
        places += range(last, found.start() + 1)
        places += [-1] * (len(_encoded_unit(found)) - 1)
        last = found.end()
    places += range(last, len(uri) + 1)
    return places


def _compile(template: str) -> list[_Piece]:
    pieces, at = [], 0
    for found in _EXPRESSION.finditer(template):
        if literal := template[at : found.start()]:
            pieces.append(_Piece((encoded(literal),)))
        pieces += _expression(found[1])
        at = found.end()
    if literal := template[at:]:
        pieces.append(_Piece((encoded(literal),)))
    return pieces


def _expression(text: str) -> list[_Piece]:
    operator = text[:1] if text[:1] in "+#./;?&" else ""
    names = text[len(operator) :].split(",")
    if operator in ("?", "&"):
        # Each variable may be absent.
        listed = [name.strip("*") for name in names]
        return [_Piece((f"?{encoded(name)}=", f"&{encoded(name)}="), name, "&#", is_optional=True) for name in listed]
    pieces = []
    for index, name in enumerate(names):
        before = "," if index else operator if operator in ("#", ".", "/") else ""
        is_open = operator in ("+", "#") or name.endswith("*")
        pieces.append(_Piece((before,), name.rstrip("*").partition(":")[0], "" if is_open else "/?#"))
    return pieces
