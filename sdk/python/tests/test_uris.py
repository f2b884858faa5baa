"""URIs of resources and templates: their encoded form, and the time that a URI takes."""

from __future__ import annotations

import pytest

from protomcp import resource, resource_template
from protomcp._uris import match
from protomcp.testing import Harness

LITERALS: list[tuple[str, str, dict[str, str] | None]] = [
    ("docs://café/{name}", "docs://caf%C3%A9/a.txt", {"name": "a.txt"}),
    ("docs://café/{name}", "docs://caf%c3%a9/a.txt", {"name": "a.txt"}),
    ("docs://café/{name}", "docs://café/a.txt", {"name": "a.txt"}),
    ("docs://caf%C3%A9/{name}", "docs://café/a.txt", {"name": "a.txt"}),
    ("docs://caf%c3%a9/{name}", "docs://caf%C3%A9/a.txt", {"name": "a.txt"}),
    ("docs://café/{name}", "docs://cafe/a.txt", None),
    ("docs://café/{name}", "docs://caf%C3/a.txt", None),
    ("a://x%20y/{n}", "a://x y/1", {"n": "1"}),
    ("a://x y/{n}", "a://x%20y/1", {"n": "1"}),
    ("a://A/{n}", "a://%41/1", {"n": "1"}),
    ("a://%41/{n}", "a://A/1", {"n": "1"}),
    ("a://%7e/{n}", "a://~/1", {"n": "1"}),
    ("a://[b]/{n}", "a://%5Bb%5d/1", {"n": "1"}),
    ("a://%5bb%5D/{n}", "a://[b]/1", {"n": "1"}),
    ("a://😀{n}😀", "a://%F0%9F%98%801😀", {"n": "1"}),
    ("a://{n}/é", "a://1/%C3%A9", {"n": "1"}),
    ("a://{n}%C3%A9{m}", "a://1é2", {"n": "1", "m": "2"}),
    ("a://{+n}é", "a://é/éé", {"n": "é/é"}),
    ("a://b{?é}", "a://b?%C3%A9=1", {"é": "1"}),
    ("a://100%/{n}", "a://100%25/1", {"n": "1"}),
    ("a://\ud800/{n}", "a://\ud800/1", {"n": "1"}),
    # Reserved characters are not the same as their escapes: RFC 3986, 2.2.
    ("a://b/{n}", "a://b%2F1", None),
    ("a://b%2F{n}", "a://b/1", None),
    ("a://b%2f{n}", "a://b%2F1", {"n": "1"}),
]
VALUES: list[tuple[str, str, dict[str, str] | None]] = [
    ("a://{x}", "a://caf%C3%A9", {"x": "café"}),
    ("a://{x}", "a://café b", {"x": "café b"}),
    ("a://{x}", "a://a%2Fb%2541", {"x": "a/b%41"}),
    ("a://{x}", "a://100%", {"x": "100%"}),
    ("a://{x}", "a://1/2", None),
    ("a://{x}", "a://", None),
    ("a://{+x}/{y}", "a://%41/b/c", {"x": "A/b", "y": "c"}),
    ("a://{x*}/c", "a://a/b/c", {"x": "a/b"}),
    ("a://{x,y}", "a://%C3%A9,é", {"x": "é", "y": "é"}),
    ("a://{x}/b{/y}{.z}", "a://1/b/2.3", {"x": "1", "y": "2", "z": "3"}),
    # An escape is not divided.
    ("a://{x}{y}", "a://%20", None),
    ("a://{+x}4{y}", "a://%41", None),
    ("a://s{?q,n}", "a://s", {}),
    ("a://s{?q,n}", "a://s&n=%C3%A9", {"n": "é"}),
    ("a://s{?q,n}{#f}", "a://s?q=#é", {"q": "", "f": "é"}),
    ("a://x.y", "a://xzy", None),
]


@pytest.mark.parametrize(("template", "uri", "values"), LITERALS + VALUES)
def test_literals_are_compared_encoded_and_values_decoded(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert match(template, uri) == values


@pytest.mark.parametrize(
    ("template", "unit"),
    [
        ("doc://{+a}/{+b}/{+c}/x", "a/"),
        ("doc://{+a}/{+b}/{+c}/x", "é/"),
        ("doc://{+a}{+b}{+c}{+d}{+e}x", "a"),
        ("doc://{a}{b}{c}{d}{e}/x", "%41"),
        ("doc://{+a,b,c,d}x", "a,"),
        ("doc://{?a,a,a,a,a,a}x", "?a=1"),
        ("doc://{#a,b,c}{#d,e,f}x", "#,"),
    ],
)
def test_no_uri_takes_long(template: str, unit: str) -> None:
    """With a matcher that goes back, this does not end."""
    assert match(template, f"doc://{unit * 8000}y") is None


def test_a_long_uri_has_the_longest_first_value() -> None:
    found = match("doc://{+a}/{+b}/{+c}/x", f"doc://{'a/' * 8000}x")
    assert found == {"a": "/".join("a" * 7998), "b": "a", "c": "a"}


def test_resources_are_read_in_any_form_of_their_uri() -> None:
    seen = []

    def body(uri: str) -> str:
        seen.append(uri)
        return "body"

    resource("f://café/x")(body)
    resource("f://b%20c/[d]")(body)
    resource_template("f://é/{+path}")(lambda path: path)
    uris = ["f://café/x", "f://caf%C3%A9/x", "f://caf%c3%a9/%78", "f://b c/[d]", "f://b%20c/%5Bd%5D"]
    with Harness() as tools:
        assert [tools.read(uri) for uri in uris] == [["body"]] * 5
        assert tools.read("f://%C3%A9/a/b%2Fc") == ["a/b/c"]
        with pytest.raises(LookupError, match="not found"):
            tools.read("f://caf%C3%A9%2Fx")
    # The handler gets the URI that was asked for.
    assert seen == uris
