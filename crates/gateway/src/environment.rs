//! The parts of a gateway that its sessions with servers need: the sessions of its clients, and its limits.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock, PoisonError};

use protomcp_server::{Audience, ServerHandle, SessionId};
use protomcp_types::{Level, RawJson};

use crate::limits::GatewayLimits;

/// The most elicitations with a web page that are remembered. The oldest are forgotten first.
const MAX_ELICITATIONS: usize = 1024;
/// The longest id of one, in bytes.
const MAX_ELICITATION_ID: usize = 1024;

/// The parts of a gateway that its sessions with servers need.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) limits: GatewayLimits,
    /// Log messages carry the name of their server.
    pub(crate) names_servers: bool,
    /// Empty until the capabilities of the servers are known.
    clients: OnceLock<ServerHandle>,
    /// The sessions whose users were sent to web pages.
    elicitations: Mutex<VecDeque<(String, SessionId)>>,
}

impl Environment {
    pub(crate) fn new(limits: GatewayLimits, names_servers: bool) -> Self {
        Self { limits, names_servers, clients: OnceLock::new(), elicitations: Mutex::default() }
    }

    /// The sessions of the clients; `None` before there can be any.
    pub(crate) fn clients(&self) -> Option<&ServerHandle> {
        self.clients.get()
    }

    pub(crate) fn serve(&self, clients: ServerHandle) {
        // A gateway is opened once.
        drop(self.clients.set(clients));
    }

    /// Tells clients that all lists may have changed.
    pub(crate) fn lists_changed(&self, audience: &Audience) {
        if let Some(clients) = self.clients() {
            let can = &clients.info().capabilities;
            if can.tools.is_some() {
                clients.tools_changed(audience.clone());
            }
            if can.resources.is_some() {
                clients.resources_changed(audience.clone());
            }
            if can.prompts.is_some() {
                clients.prompts_changed(audience.clone());
            }
        }
    }

    /// Sends clients a message of the gateway itself.
    pub(crate) fn log(&self, audience: Audience, level: Level, text: &str) {
        if let Some(clients) = self.clients() {
            clients.log(audience, level, Some("gateway"), &RawJson::text(text));
        }
    }

    /// Remembers that the user of a session was sent to a web page.
    pub(crate) fn page_opened(&self, id: &str, session: SessionId) {
        if session == SessionId::STATELESS || id.len() > MAX_ELICITATION_ID {
            return;
        }
        let mut pages = self.elicitations.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(known, _)| known != id);
        if pages.len() == MAX_ELICITATIONS {
            pages.pop_front();
        }
        pages.push_back((id.to_owned(), session));
    }

    /// The session whose user was sent to this page. It is forgotten.
    pub(crate) fn page_done(&self, id: &str) -> Option<SessionId> {
        let mut pages = self.elicitations.lock().unwrap_or_else(PoisonError::into_inner);
        let place = pages.iter().position(|(known, _)| known == id)?;
        pages.remove(place).map(|(_, session)| session)
    }
}
