//! The facts about a server that a visit checks: its lists, and calls with a known answer.

use protomcp_types::{ProtocolVersion, Reference};
use serde_json::Value;

/// A call, and a text of its result. An empty text is part of every result.
pub(crate) struct Ask {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) text: &'static str,
}

/// A tool's name, its arguments, and a text of its result.
pub(crate) fn ask(tool: &'static str, arguments: Value, text: &'static str) -> Ask {
    Ask { tool, arguments, text }
}

/// The facts about a server. Features that it does not have are empty.
pub(crate) struct Facts {
    /// Its name for itself.
    pub(crate) name: &'static str,
    /// The revision of a connection in `Mode::Auto`. A server with 2026-07-28 has sessions, too.
    pub(crate) revision: ProtocolVersion,
    pub(crate) tools: Vec<&'static str>,
    /// Calls in order, with their answers.
    pub(crate) calls: Vec<Ask>,
    /// A call with a structured result, whose text is part of the structure.
    pub(crate) structured: Option<Ask>,
    /// A call that fails.
    pub(crate) failure: Ask,
    /// A call with this many reports of progress.
    pub(crate) progress: Option<(Ask, usize)>,
    /// A call that reports progress and then takes longer than any test.
    pub(crate) long: Option<Ask>,
    /// A call that a client can ask for as a task.
    pub(crate) task: Option<Ask>,
    /// A call that logs its text, or another one.
    pub(crate) logging: Option<(Ask, &'static str)>,
    pub(crate) resources: Resources,
    pub(crate) prompts: Prompts,
    pub(crate) questions: Questions,
    /// A server that has both eras asks in sessions only.
    pub(crate) asks_in_sessions_only: bool,
}

#[derive(Default)]
pub(crate) struct Resources {
    pub(crate) uris: Vec<&'static str>,
    /// A resource, and a part of its text.
    pub(crate) reading: Option<(&'static str, &'static str)>,
    pub(crate) templates: Vec<&'static str>,
    /// A resource, and a call that changes it.
    pub(crate) subscription: Option<(&'static str, Ask)>,
}

#[derive(Default)]
pub(crate) struct Prompts {
    pub(crate) names: Vec<&'static str>,
    /// A prompt with its arguments and a part of its text.
    pub(crate) reading: Option<Ask>,
    /// An argument, its value so far, and the suggestions.
    pub(crate) completion: Option<(Reference, [&'static str; 2], Vec<&'static str>)>,
}

/// Calls that ask the model, the user and for the roots.
#[derive(Default)]
pub(crate) struct Questions {
    pub(crate) sampling: Option<Ask>,
    pub(crate) elicitation: Option<Ask>,
    pub(crate) roots: Option<Ask>,
}

impl Facts {
    /// The facts in a connection of this revision.
    pub(crate) fn in_revision(self, revision: ProtocolVersion) -> Self {
        let asks = revision.is_stateful() || !self.asks_in_sessions_only;
        Self { questions: if asks { self.questions } else { Questions::default() }, ..self }
    }

    /// A server with tools and nothing else.
    pub(crate) fn new(name: &'static str, revision: ProtocolVersion, tools: &[&'static str], failure: Ask) -> Self {
        Self {
            name,
            revision,
            tools: tools.to_vec(),
            failure,
            calls: Vec::new(),
            structured: None,
            progress: None,
            long: None,
            task: None,
            logging: None,
            resources: Resources::default(),
            prompts: Prompts::default(),
            questions: Questions::default(),
            asks_in_sessions_only: false,
        }
    }
}
