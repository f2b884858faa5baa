//! The machine: envelopes of the bridge become calls of an MCP server, and its results and notices become envelopes.
//!
//! ```text
//! bridge ─▶ from_bridge ─▶ Step::Call ─▶ server
//! bridge ◀─ Step::Send  ◀─ from_server ◀─ results, notices
//!                  ▲
//!                  └────── reports, questions and tasks of calls
//! ```
//!
//! The bridge is a member of the server. A call keeps the id that the bridge has given to it, and requests of this
//! machine have numbers.

mod from_bridge;
mod from_server;
mod handshake;
mod lists;
mod pending;
mod questions;
mod results;
mod selection;

use std::collections::{BTreeSet, HashMap, HashSet};

use protomcp_envelope::{Envelope, Msg, SdkInfo};
use protomcp_server::{ServerInfo, ServerRequest};
use protomcp_types::{RequestId, ServerCapabilities};

use crate::config::Config;
use crate::exchange::handshake::Registering;
use crate::exchange::pending::Pending;
use crate::exchange::questions::Questions;
use crate::features::Features;
use crate::handover::Running;
use crate::step::{ServerCall, Step};
use crate::tasks::Tasks;

/// The features that every process announces.
const FEATURES: [&str; 5] = ["elicitation", "structured-content", "validated-arguments", "request-context", "ping"];
/// The feature of a process that has a state for its successor.
const HAND_OVER: &str = "hand-over";

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    capabilities: ServerCapabilities,
    config: Config,
    features: Features,
    pending: HashMap<RequestId, Pending>,
    questions: Questions,
    tasks: Tasks,
    /// The resources whose changes the bridge is told.
    subscribed: HashSet<String>,
    /// The tools that the bridge hides.
    hidden: BTreeSet<String>,
    last_number: i64,
    is_handshake_over: bool,
    registering: Option<Registering>,
    /// The calls whose handlers run.
    running: Running,
}

impl Exchange {
    pub(crate) fn new(info: &ServerInfo, config: Config) -> Self {
        Self {
            capabilities: info.capabilities.clone(),
            questions: Questions::new(config.max_questions),
            config,
            features: Features::default(),
            pending: HashMap::new(),
            tasks: Tasks::default(),
            subscribed: HashSet::new(),
            hidden: BTreeSet::new(),
            last_number: 0,
            is_handshake_over: false,
            registering: None,
            running: Running::default(),
        }
    }

    /// Announces the process to the bridge.
    pub(crate) fn begin(&self) -> Vec<Step> {
        let hands_over = self.config.handover.as_ref().map(|_| HAND_OVER);
        let features = FEATURES.into_iter().chain(hands_over).map(str::to_owned).collect();
        let info = SdkInfo {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            language: "rust".into(),
            max_concurrent_calls: self.config.max_concurrent_calls,
            features,
            skill_folders: self.config.skill_folders.clone(),
        };
        vec![Step::send(Envelope::new("", info))]
    }

    /// A request of this machine.
    fn request(&mut self, request: ServerRequest, pending: Pending) -> Step {
        self.last_number += 1;
        let id = RequestId::from(self.last_number);
        self.pending.insert(id.clone(), pending);
        Step::Call(Box::new(ServerCall::new(id, request)))
    }

    /// Continues a call as a task.
    pub(crate) fn continue_as_task(&mut self, id: &str) -> Option<Step> {
        let is_open = matches!(self.pending.get(&RequestId::from(id)), Some(Pending::Call { .. }));
        (is_open && self.tasks.begin(id)).then(|| results::task(id))
    }

    pub(crate) fn is_task(&self, id: &str) -> bool {
        self.tasks.is_task(id)
    }

    pub(crate) fn set_task_message(&mut self, id: &str, message: &str) {
        self.tasks.set_message(id, message);
    }

    /// An envelope that belongs to a request of the bridge, if the bridge knows such.
    fn during(&self, request: Option<&RequestId>, id: &str, message: impl Into<Msg>) -> Envelope {
        let mut envelope = Envelope::new(id, message);
        let Some(request) = request else { return envelope };
        let feature = match self.pending.get(request) {
            Some(Pending::Call { .. }) | None => "for-call",
            Some(_) => "for-request",
        };
        if let Some(request) = request.as_str().filter(|_| self.features.has(feature)) {
            request.clone_into(&mut envelope.for_call);
        }
        envelope
    }
}
