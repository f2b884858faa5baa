//! The official conformance suite against `pmcp` over HTTP, with a tool process on the published Python SDK behind it.
//!
//! The SDK cannot say everything that the suite asks for. Which scenarios wait for what is written here, and the table of
//! it, `SUITE.md`, is written from it: `UPDATE_SUITE=1 cargo test -p protomcp-conformance --test suite_bridge` does it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use protomcp_conformance::{Web, envelope_tools, suite};

/// What the SDK, 0.3.1, cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Missing {
    Content,
    Messages,
    Elicitation,
    Roots,
    Names,
    Together,
    Prompt,
    Lists,
    Tasks,
}

impl Missing {
    const ALL: [Self; 9] = [
        Self::Content,
        Self::Messages,
        Self::Elicitation,
        Self::Roots,
        Self::Names,
        Self::Together,
        Self::Prompt,
        Self::Lists,
        Self::Tasks,
    ];

    fn why(self) -> &'static str {
        match self {
            Self::Content => {
                "the SDK writes every result as one text; the envelope carries any content (`result_json`)"
            }
            Self::Messages => {
                "the SDK writes every message of a prompt as text; the envelope carries any (`content_json`)"
            }
            Self::Elicitation => "the SDK cannot ask the user; the envelope can (extension `elicitation_request`)",
            Self::Roots => "the SDK cannot ask for roots; the envelope can (`list_roots_request`)",
            Self::Names => {
                "the suite wants to choose the name of a question (`user_name`); in the envelope it has none"
            }
            Self::Together => {
                "the suite wants several questions in one answer; in the envelope each is asked by itself"
            }
            Self::Prompt => "a prompt of the SDK cannot ask; the envelope has no question that belongs to a prompt",
            Self::Lists => {
                "a call without a session changes no list, and the SDK has no way to say that a list has changed for \
                 everyone; the envelope has for prompts and resources (extensions `prompt_list_changed`, \
                 `resource_list_changed`), and a process that registers its tools anew says it for tools"
            }
            Self::Tasks => "the SDK runs no tasks; the envelope has them (`create_task` and what belongs to it)",
        }
    }
}

impl Missing {
    /// Whether a process without the SDK shows that its scenarios pass.
    fn is_said_in_envelopes(self) -> bool {
        match self {
            Self::Content | Self::Messages | Self::Elicitation | Self::Roots => true,
            Self::Names | Self::Together | Self::Prompt | Self::Lists | Self::Tasks => false,
        }
    }
}

/// A scenario, and what it waits for.
type Waiting = (&'static str, Missing);

use Missing::{Content, Elicitation, Lists, Messages, Names, Prompt, Roots, Tasks, Together};

/// For each revision: how many scenarios there are (required and not scored), and those that do not pass.
const RUNS: &[(&str, usize, &[Waiting])] = &[
    (
        "2025-11-25",
        30 + 3,
        &[
            ("elicitation-sep1034-defaults", Elicitation),
            ("elicitation-sep1330-enums", Elicitation),
            ("prompts-get-embedded-resource", Messages),
            ("prompts-get-with-image", Messages),
            ("tools-call-audio", Content),
            ("tools-call-elicitation", Elicitation),
            ("tools-call-embedded-resource", Content),
            ("tools-call-image", Content),
            ("tools-call-mixed-content", Content),
        ],
    ),
    (
        "2026-07-28",
        37 + 13,
        &[
            ("input-required-result-basic-elicitation", Names),
            ("input-required-result-basic-list-roots", Roots),
            ("input-required-result-ignore-extra-params", Names),
            ("input-required-result-missing-input-response", Elicitation),
            ("input-required-result-multi-round", Elicitation),
            ("input-required-result-multiple-input-requests", Together),
            ("input-required-result-non-tool-request", Prompt),
            ("input-required-result-request-state", Elicitation),
            ("input-required-result-result-type", Elicitation),
            ("input-required-result-tampered-state", Elicitation),
            ("prompts-get-embedded-resource", Messages),
            ("prompts-get-with-image", Messages),
            // Two warnings of thirty checks.
            ("server-stateless", Lists),
            ("tasks-capability-negotiation", Tasks),
            ("tasks-dispatch-and-envelope", Tasks),
            ("tasks-lifecycle", Tasks),
            ("tasks-mrtr-composition", Tasks),
            ("tasks-mrtr-input", Tasks),
            ("tasks-request-headers", Tasks),
            ("tasks-request-state-removal", Tasks),
            ("tasks-required-task-error", Tasks),
            ("tasks-wire-fields", Tasks),
            ("tools-call-audio", Content),
            ("tools-call-embedded-resource", Content),
            ("tools-call-image", Content),
            ("tools-call-mixed-content", Content),
        ],
    ),
];

#[test]
fn what_the_published_python_sdk_can_say_passes_the_suite_through_the_bridge() {
    let web = Web::start("py/everything.py", &["--transport", "http"]);
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    for (revision, count, waiting) in RUNS {
        let outcome = suite::run(&url, &["--requirements", revision]);
        assert_eq!(outcome.scenarios.len(), *count, "{revision}: {}", outcome.text);
        let names: Vec<_> = waiting.iter().map(|(name, _)| *name).collect();
        assert_eq!(outcome.failed(), names, "{revision}: {}", outcome.complaints());
    }
}

/// A process that writes envelopes by hand shows that the envelope and the bridge can do what the SDK cannot say.
#[test]
fn what_the_sdk_cannot_say_passes_when_a_process_says_it_in_envelopes() {
    let web = Web::start_program(&envelope_tools(), &["--transport", "http"]);
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    for (revision, _, waiting) in RUNS {
        for (name, missing) in *waiting {
            if missing.is_said_in_envelopes() {
                let outcome = suite::run(&url, &["--scenario", name, "--spec-version", revision]);
                assert_eq!(outcome.passed(), [*name], "{revision}: {}\n{}", outcome.complaints(), outcome.text);
            }
        }
    }
}

#[test]
fn the_table_of_what_waits_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("SUITE.md");
    let table = table();
    if std::env::var_os("UPDATE_SUITE").is_some() {
        fs::write(&path, &table).expect("the table can be written");
    }
    let written = fs::read_to_string(&path).expect("the table is there");
    assert!(written == table, "SUITE.md is out of date: run this test with UPDATE_SUITE=1");
}

fn table() -> String {
    let mut text = String::from(
        "# The official suite through the bridge\n\n\
         Which scenarios of the official conformance suite pass with `pmcp run everything.py --transport http` and the\n\
         published Python SDK 0.3.1, required and not scored, and what the others wait for. The same suite against a server\n\
         in Rust passes as a whole (`tests/suite.rs`). A process that writes envelopes without an SDK passes those marked so.\n\
         This table is written by `UPDATE_SUITE=1 cargo test -p protomcp-conformance --test suite_bridge`.\n\n\
         | revision | scenarios | without a complaint |\n| --- | --- | --- |\n",
    );
    for (revision, count, waiting) in RUNS {
        // A string takes everything.
        let _ = writeln!(text, "| {revision} | {count} | {} |", count - waiting.len());
    }
    text += "\n| what is missing | shown in envelopes | scenarios that wait for it |\n| --- | --- | --- |\n";
    for missing in Missing::ALL {
        let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (revision, _, waiting) in RUNS {
            let found = waiting.iter().filter(|(_, other)| *other == missing);
            found.for_each(|(name, _)| names.entry(name).or_default().push(revision));
        }
        let names: Vec<_> =
            names.iter().map(|(name, revisions)| format!("`{name}` ({})", revisions.join(", "))).collect();
        let shown = if missing.is_said_in_envelopes() { "yes" } else { "no" };
        let _ = writeln!(text, "| {} | {shown} | {} |", missing.why(), names.join("<br>"));
    }
    text
}
