// URIs of resources and templates: their encoded form, and the time that a URI takes.
import assert from "node:assert/strict";
import { test } from "node:test";

import { resource, resourceTemplate } from "protomcp";
import { connect } from "protomcp/testing";

import { matchTemplate } from "../src/session/template.js";

test("literals are compared in their encoded form", () => {
  const cases = [
    ["docs://café/{name}", "docs://caf%C3%A9/a.txt", { name: "a.txt" }],
    ["docs://café/{name}", "docs://caf%c3%a9/a.txt", { name: "a.txt" }],
    ["docs://café/{name}", "docs://café/a.txt", { name: "a.txt" }],
    ["docs://caf%C3%A9/{name}", "docs://café/a.txt", { name: "a.txt" }],
    ["docs://caf%c3%a9/{name}", "docs://caf%C3%A9/a.txt", { name: "a.txt" }],
    ["docs://café/{name}", "docs://cafe/a.txt", undefined],
    ["docs://café/{name}", "docs://caf%C3/a.txt", undefined],
    ["a://x%20y/{n}", "a://x y/1", { n: "1" }],
    ["a://x y/{n}", "a://x%20y/1", { n: "1" }],
    ["a://A/{n}", "a://%41/1", { n: "1" }],
    ["a://%41/{n}", "a://A/1", { n: "1" }],
    ["a://%7e/{n}", "a://~/1", { n: "1" }],
    ["a://[b]/{n}", "a://%5Bb%5d/1", { n: "1" }],
    ["a://%5bb%5D/{n}", "a://[b]/1", { n: "1" }],
    ["a://😀{n}😀", "a://%F0%9F%98%801😀", { n: "1" }],
    ["a://{n}/é", "a://1/%C3%A9", { n: "1" }],
    ["a://{n}%C3%A9{m}", "a://1é2", { n: "1", m: "2" }],
    ["a://{+n}é", "a://é/éé", { n: "é/é" }],
    ["a://b{?é}", "a://b?%C3%A9=1", { é: "1" }],
    ["a://100%/{n}", "a://100%25/1", { n: "1" }],
    // Reserved characters are not the same as their escapes: RFC 3986, 2.2.
    ["a://b/{n}", "a://b%2F1", undefined],
    ["a://b%2F{n}", "a://b/1", undefined],
    ["a://b%2f{n}", "a://b%2F1", { n: "1" }],
  ];
  for (const [template, uri, params] of cases)
    assert.deepEqual(matchTemplate(template, uri), params, `${template} ${uri}`);
});

test("values are decoded once, and an escape is not divided", () => {
  const cases = [
    ["a://{x}", "a://caf%C3%A9", { x: "café" }],
    ["a://{x}", "a://café b", { x: "café b" }],
    ["a://{x}", "a://a%2Fb%2541", { x: "a/b%41" }],
    ["a://{x}", "a://100%", { x: "100%" }],
    ["a://{x}", "a://%ff", { x: "%ff" }],
    ["a://{+x}/{y}", "a://%41/b", { x: "A", y: "b" }],
    ["a://{x,y}", "a://%C3%A9,é", { x: "é", y: "é" }],
    ["a://{x}{y}", "a://%20", undefined],
    ["a://{+x}4{y}", "a://%41", undefined],
    ["a://s{?q,n}", "a://s&n=%C3%A9", { n: "é" }],
    ["a://s{?q,n}{#f}", "a://s?q=#é", { q: "", f: "é" }],
    ["a://{x}{;p}", "a://1;p=", { x: "1", p: "" }],
  ];
  for (const [template, uri, params] of cases)
    assert.deepEqual(matchTemplate(template, uri), params, `${template} ${uri}`);
});

// With a matcher that goes back, this does not end.
test("no URI takes long", () => {
  const hostile = [
    ["doc://{+a}/{+b}/{+c}/x", "a/"],
    ["doc://{+a}/{+b}/{+c}/x", "é/"],
    ["doc://{+a}{+b}{+c}{+d}{+e}x", "a"],
    ["doc://{a}{b}{c}{d}{e}/x", "%41"],
    ["doc://{+a,b,c,d}x", "a,"],
    ["doc://{?a,a,a,a,a,a}x", "?a=1"],
    ["doc://{#a,b,c}{#d,e,f}x", "#,"],
  ];
  for (const [template, unit] of hostile) {
    assert.equal(matchTemplate(template, `doc://${unit.repeat(8000)}y`), undefined, template);
  }
  const { c } = matchTemplate("doc://{+a}/{+b}/{+c}/x", `doc://${"a/".repeat(8000)}x`);
  assert.equal(c.length, 2 * 7998 - 1);
});

test("resources are read in any form of their URI", async () => {
  const seen = [];
  const body = (uri) => (seen.push(uri), "body");
  resource({ uri: "f://café/x", handler: body });
  resource({ uri: "f://b%20c/[d]", handler: body });
  resourceTemplate({ uriTemplate: "f://é/{+path}", handler: (uri, { params }) => params.path });
  const client = await connect();
  const uris = ["f://café/x", "f://caf%C3%A9/x", "f://caf%c3%a9/%78", "f://b c/[d]", "f://b%20c/%5Bd%5D"];
  for (const uri of uris) assert.equal((await client.read(uri))[0].text, "body", uri);
  assert.deepEqual(seen, uris, "the handler gets the URI that was asked for");
  assert.equal((await client.read("f://%C3%A9/a/b%2Fc"))[0].text, "a/b/c");
  assert.deepEqual(await client.read("f://caf%C3%A9%2Fx"), []);
});
