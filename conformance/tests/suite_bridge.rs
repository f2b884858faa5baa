//! The official conformance suite against `pmcp` over HTTP, with four tool processes: one on the published Python SDK,
//! one that writes the envelopes of the published link without an SDK, one that also uses their extensions, and one on
//! `protomcp-sdk` with the handlers of `everything_server`.
//!
//! Some scenarios cannot be expressed in some of these ways. This file lists the missing features of each scenario, and
//! `SUITE.md` is generated from it: `UPDATE_SUITE=1 scripts/run-tests 'test(/^suite_bridge::/)'`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread;

use protomcp_conformance::{Web, envelope_tools, everything_tool, suite, tier};
use protomcp_testing::assert_committed;

/// The protocol of a tool process; each one includes the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Speech {
    Sdk,
    Link,
    Extensions,
    Rust,
}

impl Speech {
    const ALL: [Self; 4] = [Self::Sdk, Self::Link, Self::Extensions, Self::Rust];

    /// Those that the suite visits: in the short tier one that speaks the published link, and one with all extensions.
    fn tried() -> &'static [Self] {
        tier::<&[Self]>(&[Self::Sdk, Self::Rust], &Self::ALL)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sdk => "the published Python SDK, 0.3.1",
            Self::Link => "the envelopes of the published link",
            Self::Extensions => "these and their extensions",
            Self::Rust => "the same, by `protomcp-sdk`",
        }
    }

    fn start(self) -> Web {
        let flags = ["--transport", "http"];
        match self {
            Self::Sdk => Web::start("py/everything.py", &flags),
            Self::Link => Web::start_program(&envelope_tools(), &flags, &[("PUBLISHED_LINK", "1")]),
            Self::Extensions => Web::start_program(&envelope_tools(), &flags, &[]),
            Self::Rust => Web::start_program(&everything_tool(), &flags, &[]),
        }
    }
}

/// Features that some processes cannot express.
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
    Asking,
    Required,
}

impl Missing {
    const ALL: [Self; 11] = [
        Self::Content,
        Self::Messages,
        Self::Elicitation,
        Self::Roots,
        Self::Names,
        Self::Together,
        Self::Prompt,
        Self::Lists,
        Self::Tasks,
        Self::Asking,
        Self::Required,
    ];

    fn why(self) -> &'static str {
        match self {
            Self::Content => {
                "the SDK writes every result as one text; the envelope carries any content (`result_json`)"
            }
            Self::Messages => {
                "the SDK writes every message of a prompt as text; the envelope carries any (`content_json`)"
            }
            Self::Elicitation => {
                "the published link has no question for the user; the extension `elicitation_request` is one"
            }
            Self::Roots => "the SDK cannot ask for roots; the envelope can (`list_roots_request`)",
            Self::Names => {
                "the suite wants to choose the name of a question (`user_name`); in the published link it has none, \
                 the extension `question_key` is one"
            }
            Self::Together => {
                "the suite wants several questions in one answer; in the published link each is asked by itself, the \
                 extension `more_questions` joins them"
            }
            Self::Prompt => {
                "the suite wants a prompt that asks; in the published link only calls can ask, with the extension \
                 `for_call` prompts and reads can, too"
            }
            Self::Lists => {
                "two warnings of thirty checks: a call without a session changes no list, and the SDK has no way to say \
                 that a list has changed for everyone. A process that sends its tools anew says it for tools, which leaves \
                 one warning; the extension `prompt_list_changed` says it for prompts"
            }
            Self::Tasks => "the SDK runs no tasks; the envelope has them (`create_task` and what belongs to it)",
            Self::Asking => "the same, with tasks that ask the user (extension `elicitation_request`)",
            Self::Required => {
                "the same, with a tool that is nothing but a task: the published link knows tools that can be one \
                 (`task_support`), the extension `task_required` those that have to be"
            }
        }
    }

    /// The first process that can express it.
    fn said_by(self) -> Speech {
        match self {
            Self::Content | Self::Messages | Self::Roots | Self::Tasks => Speech::Link,
            Self::Elicitation
            | Self::Names
            | Self::Together
            | Self::Prompt
            | Self::Lists
            | Self::Asking
            | Self::Required => Speech::Extensions,
        }
    }

    fn is_said_by(self, speech: Speech) -> bool {
        self.said_by() <= speech
    }

    /// True if the suite requires its scenarios: extensions of MCP are never required.
    fn is_required(self) -> bool {
        !matches!(self, Self::Tasks | Self::Asking | Self::Required)
    }
}

/// A scenario, and its missing feature.
type Waiting = (&'static str, Missing);

use Missing::{Asking, Content, Elicitation, Lists, Messages, Names, Prompt, Required, Roots, Tasks, Together};

/// For each revision: the numbers of required and of other scenarios, and the scenarios that some processes do not
/// pass.
const RUNS: &[(&str, usize, usize, &[Waiting])] = &[
    (
        "2025-11-25",
        30,
        3,
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
        37,
        13,
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
            ("server-stateless", Lists),
            ("tasks-capability-negotiation", Tasks),
            ("tasks-dispatch-and-envelope", Asking),
            ("tasks-lifecycle", Tasks),
            ("tasks-mrtr-composition", Asking),
            ("tasks-mrtr-input", Asking),
            ("tasks-request-headers", Tasks),
            ("tasks-request-state-removal", Tasks),
            ("tasks-required-task-error", Required),
            ("tasks-wire-fields", Tasks),
            ("tools-call-audio", Content),
            ("tools-call-embedded-resource", Content),
            ("tools-call-image", Content),
            ("tools-call-mixed-content", Content),
        ],
    ),
];

#[test]
fn supported_scenarios_pass_the_suite_through_the_bridge() {
    // Much of the suite is waiting.
    thread::scope(|scope| {
        for speech in Speech::tried() {
            scope.spawn(move || check(*speech));
        }
    });
}

fn check(speech: Speech) {
    let web = speech.start();
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    for (revision, required, others, waiting) in RUNS {
        let outcome = suite::run(&url, &["--requirements", revision]);
        let about = format!("{}, {revision}", speech.name());
        assert_eq!(outcome.scenarios.len(), required + others, "{about}: {}", outcome.text);
        let names = |chosen: &dyn Fn(Missing) -> bool| -> Vec<&str> {
            waiting.iter().filter(|(_, missing)| chosen(*missing)).map(|(name, _)| *name).collect()
        };
        assert_eq!(
            outcome.failed(),
            names(&|missing| !missing.is_said_by(speech)),
            "{about}: {}",
            outcome.complaints()
        );
        assert_eq!(outcome.not_scored.len(), *others, "{about}: {}", outcome.text);
        let (scored, not_scored) = (names(&Missing::is_required), names(&|missing| !missing.is_required()));
        assert!(scored.iter().all(|name| !outcome.not_scored.contains(*name)), "{about}: {}", outcome.text);
        assert!(not_scored.iter().all(|name| outcome.not_scored.contains(*name)), "{about}: {}", outcome.text);
    }
}

#[test]
fn the_table_of_missing_scenarios_is_up_to_date() {
    assert_committed(concat!(env!("CARGO_MANIFEST_DIR"), "/SUITE.md"), table(), "UPDATE_SUITE");
}

fn table() -> String {
    let mut text = String::from(
        "# The official suite\n\n\
         ## The bridge\n\n\
         Which scenarios of the official conformance suite pass with `pmcp run` over HTTP, required ones and others, and what\n\
         the rest waits for. There are four tool processes: `everything.py` on the published Python SDK, a program that\n\
         writes the envelopes of the published link without an SDK, the same program when it uses their extensions, too (in\n\
         `proto/protomcp.proto` they begin at 100 and 200), and the handlers of `everything_server` on `protomcp-sdk`. What\n\
         counts is a scenario without a complaint; the suite itself lets warnings pass. Tools that a process could not carry\n\
         out are not there, and a scenario that is content with a refusal passes without them\n\
         (`input-required-result-validate-input`). The same suite against a server in Rust passes as a whole\n\
         (`tests/suite.rs`).\n\
         This table is written by `UPDATE_SUITE=1 scripts/run-tests 'test(/^suite_bridge::/)'`.\n\n\
         | the tool process speaks | revision | required | others |\n| --- | --- | --- | --- |\n",
    );
    for speech in Speech::ALL {
        for (revision, required, others, waiting) in RUNS {
            let without = |is_required: bool| {
                let waits = |missing: Missing| !missing.is_said_by(speech) && missing.is_required() == is_required;
                waiting.iter().filter(|(_, missing)| waits(*missing)).count()
            };
            let (passed, more) = (required - without(true), others - without(false));
            // A string takes everything.
            let _ = writeln!(text, "| {} | {revision} | {passed} of {required} | {more} of {others} |", speech.name());
        }
    }
    text += "\n| what is missing | published link | with extensions | scenarios that wait for it |\n\
             | --- | --- | --- | --- |\n";
    for missing in Missing::ALL {
        let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (revision, _, _, waiting) in RUNS {
            let found = waiting.iter().filter(|(_, other)| *other == missing);
            found.for_each(|(name, _)| names.entry(name).or_default().push(revision));
        }
        let names: Vec<_> =
            names.iter().map(|(name, revisions)| format!("`{name}` ({})", revisions.join(", "))).collect();
        let passes = |speech| if missing.is_said_by(speech) { "pass" } else { "wait" };
        let (link, extensions) = (passes(Speech::Link), passes(Speech::Extensions));
        let _ = writeln!(text, "| {} | {link} | {extensions} | {} |", missing.why(), names.join("<br>"));
    }
    text + &client_section()
}

fn client_section() -> String {
    let mut text = String::from(
        "\n## The client\n\n\
         The suite against `everything_client`, which is written with `protomcp-client`, `protomcp-http-client` and\n\
         `protomcp-oauth`. All scenarios pass without a warning, also if the client is not told the revision and has to find\n\
         the era of the server out (`tests/suite_client.rs`).\n\n\
         | revision | required | others |\n| --- | --- | --- |\n",
    );
    for suite::Run { revision, required, others, .. } in suite::CLIENT_RUNS {
        let others = if *others == 0 { "–".to_owned() } else { format!("{others} of {others}") };
        let _ = writeln!(text, "| {revision} | {required} of {required} | {others} |");
    }
    text + "\nThe suite has no requirements for the last two: all scenarios that it has for them count.\n"
}
