//! The changes of lists and resources, for clients without a conversation.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use prost::Message;
use protomcp_fair::Reservation;
use protomcp_server::{ClientInfo, MemberNotice, Membership, Peer};
use protomcp_session::Session;
use protomcp_types::{ClientCapabilities, Implementation, Level, Notification, ProtocolVersion, RequestId, method};

use crate::code;
use crate::convert::reports::{level_from_proto, log_of, log_to_proto};
use crate::fault::Fault;
use crate::message::{ListChanged, ListenRequest, LogLevel, Notice, ResourceUpdated, SubscribeRequest, notice};
use crate::serve::answers::Answers;
use crate::serve::dropped_reports::DroppedReports;
use crate::serve::endpoint::{BinaryCaller, BinaryEndpoint};
use crate::serve::mcp::Client;
use crate::session::admission::require_principal;
use crate::session::config::{Changes, Features, SessionConfig};
use crate::session::inbound::BinaryCall;
use crate::session::request_kind::RequestKind;
use crate::stream::now;

/// The notices for a client that listens. Dropping it ends its subscriptions.
///
/// Notices that are not taken wait within bounds: changes of one list or of one resource are one notice, and log messages
/// beyond the bounds of a session are dropped.
#[derive(Debug)]
pub struct BinaryListening {
    membership: Membership,
    config: Arc<SessionConfig>,
    /// The least severe level of log messages that the client wants; `None`: it wants none.
    least: Option<Level>,
    dropped: DroppedReports,
    missing: Vec<String>,
    /// One of the clients that listen.
    _slot: Reservation,
}

impl BinaryEndpoint {
    /// Begins to listen to the changes of all lists and of the resources in the request, at most 1,024, and to log messages
    /// of no call from its level on, if the server logs. No change after this is missed. Resources that are not there are
    /// [left out](BinaryListening::missing). The client is one of the open sessions of the server as long as it listens. At
    /// most 10,000 clients listen; one principal, or else one address, may have four times what is free.
    ///
    /// # Errors
    /// If a token is required and absent, a resource may not be subscribed to, there are too many resources, too many clients
    /// listen, or the subscriptions do not begin within the time of a request.
    pub async fn listen(&self, request: ListenRequest, caller: BinaryCaller) -> Result<BinaryListening, Fault> {
        let BinaryCaller { peer, connection } = caller;
        require_principal(self.config(), peer.principal.as_ref())?;
        let features = self.config().features;
        if !features.subscriptions && !request.uris.is_empty() {
            return Err(Fault::new(code::METHOD_NOT_FOUND, "the server has no subscriptions"));
        }
        let uris = distinct(request.uris)?;
        let full = |_| Fault::new(code::OVERLOADED, "too many clients listen; try again later");
        let slot = self.listeners.reserve(&peer.owner(), 1).map_err(full)?;
        let client = ClientInfo {
            version: ProtocolVersion::NEWEST_STATEFUL,
            implementation: Implementation::new("proto-mcp client", ""),
            capabilities: ClientCapabilities::new(),
        };
        let membership = self.server.join(Peer::new(peer.principal.clone(), peer.address, connection), client);
        // A level that is not known means all log messages.
        let wants_logs = request.log_level != LogLevel::Unspecified as i32 && features.streaming.has_logs();
        let least = wants_logs.then(|| level_from_proto(request.log_level).unwrap_or(Level::Debug));
        membership.set_log_level(least);
        let mut facts = membership.facts(RequestId::from(0));
        facts.known = peer.known.clone();
        let answers = self.answers(Client::Member { facts, last: Arc::default() }, peer, connection);
        let subscribing = subscribe_all(&answers, uris);
        let time = self.config().limits.request_timeout;
        let begun = tokio::time::timeout(time, subscribing).await;
        let missing = begun.unwrap_or_else(|_| Err(RequestKind::Other.late(time)))?;
        let config = Arc::clone(&self.shared.session);
        Ok(BinaryListening { membership, config, least, dropped: DroppedReports::default(), missing, _slot: slot })
    }
}

/// Each resource once.
fn distinct(mut uris: Vec<String>) -> Result<Vec<String>, Fault> {
    uris.sort_unstable();
    uris.dedup();
    if uris.len() > Session::MAX_SUBSCRIPTIONS {
        return Err(Fault::new(code::INVALID_PARAMS, "the request names too many resources"));
    }
    Ok(uris)
}

/// Subscribes to resources. Returns the ones that are not there.
async fn subscribe_all(answers: &Answers, uris: Vec<String>) -> Result<Vec<String>, Fault> {
    let (mut waiting, mut running) = (uris.into_iter(), FuturesUnordered::new());
    let mut missing = Vec::new();
    loop {
        while running.len() < MAX_RUNNING
            && let Some(uri) = waiting.next()
        {
            running.push(subscribe(answers, uri));
        }
        match running.next().await {
            Some(ended) => missing.extend(ended?),
            None => break,
        }
    }
    missing.sort_unstable();
    Ok(missing)
}

/// Subscribes to a resource. Returns one that is not there.
async fn subscribe(answers: &Answers, uri: String) -> Result<Option<String>, Fault> {
    let request = SubscribeRequest { uri: uri.clone() };
    match answers.answer(BinaryCall::Subscribe(request), None).await {
        Ok(_) => Ok(None),
        Err(fault) if fault.code == code::RESOURCE_NOT_FOUND => Ok(Some(uri)),
        Err(fault) => Err(fault),
    }
}

impl BinaryListening {
    /// The resources of the request that are not there, in order. No notice is about them.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The next notice; `None`: the server shuts down. Cancel safe.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            // A question finds no way to the client, and fails.
            let MemberNotice::Notification(notification) = self.membership.next().await? else { continue };
            let Some(notice) = notice_of(&notification, self.config.features, self.least) else { continue };
            let notice = Notice { notice: Some(notice) };
            if notice.encoded_len() <= self.config.frames.frame() {
                return Some(notice);
            }
            self.dropped.add(now, 1);
        }
    }
}

/// The notice in a notification of MCP; `None`: it is about something else, or the server does not announce it.
fn notice_of(notification: &Notification, features: Features, least: Option<Level>) -> Option<notice::Notice> {
    let Notification { method, params } = notification;
    if *method == method::RESOURCE_UPDATED {
        let uri = params.member("uri")?.to::<String>().ok()?;
        return Some(notice::Notice::ResourceUpdated(ResourceUpdated { uri }));
    }
    if *method == method::LOG {
        let (level, logger, data) = log_of(params)?;
        let is_wanted = least.is_some_and(|least| level >= least);
        return is_wanted.then(|| notice::Notice::Log(log_to_proto(level, logger.as_deref(), data)));
    }
    let is = |name: &str, list: Option<Changes>| *method == name && list == Some(Changes::Announced);
    let changed = ListChanged {
        tools: is(method::TOOLS_CHANGED, features.tools),
        resources: is(method::RESOURCES_CHANGED, features.resources),
        prompts: is(method::PROMPTS_CHANGED, features.prompts),
    };
    (changed != ListChanged::default()).then_some(notice::Notice::ListChanged(changed))
}

/// The most resources of one client that are subscribed to at the same time.
const MAX_RUNNING: usize = 16;

#[cfg(test)]
mod tests {
    use protomcp_types::{JsonObject, Params, RawJson};

    use super::*;

    #[test]
    fn notices_are_what_the_server_announces() {
        let features =
            Features { tools: Some(Changes::Announced), resources: Some(Changes::Silent), ..Features::default() };
        let uri: Params = JsonObject::new().with("uri", RawJson::text("a:b")).into();
        let updated = notice::Notice::ResourceUpdated(ResourceUpdated { uri: "a:b".to_owned() });
        let tools = notice::Notice::ListChanged(ListChanged { tools: true, ..ListChanged::default() });
        let log = |level: &str| {
            let params = JsonObject::new().with("level", RawJson::text(level)).with("data", RawJson::text("said"));
            Params::from(params)
        };
        let said = notice::Notice::Log(log_to_proto(Level::Error, None, &RawJson::text("said")));
        for (name, params, expected) in [
            (method::RESOURCE_UPDATED, uri, Some(updated)),
            (method::RESOURCE_UPDATED, Params::Absent, None),
            (method::TOOLS_CHANGED, Params::Absent, Some(tools)),
            (method::RESOURCES_CHANGED, Params::Absent, None),
            (method::PROMPTS_CHANGED, Params::Absent, None),
            (method::LOG, log("error"), Some(said)),
            (method::LOG, log("info"), None),
            (method::LOG, Params::Absent, None),
        ] {
            let notification = Notification { method: name.into(), params };
            assert_eq!(notice_of(&notification, features, Some(Level::Warning)), expected, "{name}");
        }
    }
}
