//! The `_meta` of requests without a session, read once: a client sends the same text with each request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use protomcp_types::meta::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use protomcp_types::{ErrorObject, Implementation, Kind, Params, RawJson, RequestMeta};

use crate::client_info::ClientInfo;

/// The most texts that are kept.
const MAX_KNOWN: usize = 256;

/// The longest text that is kept, in bytes.
const MAX_TEXT: usize = 1024;

/// A shorter text lacks one of the two members that the stateless revision requires.
const MIN_TEXT: usize = PROTOCOL_VERSION.len() + CLIENT_CAPABILITIES.len();

/// The members that a client repeats; any other may differ from request to request.
const REPEATED: [&str; 4] = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL];

/// The `_meta` of a request, and the client that it describes.
#[derive(Debug, Default)]
pub struct StatelessMeta {
    members: RequestMeta,
    client: OnceLock<Result<Arc<ClientInfo>, ErrorObject>>,
}

/// The `_meta` of earlier requests by their text, so that it is read once. Bounded in number and length, and emptied
/// when it is full.
#[derive(Debug, Default)]
pub struct KnownMeta {
    /// Of requests without `_meta`.
    absent: Arc<StatelessMeta>,
    known: Mutex<HashMap<RawJson, Arc<StatelessMeta>>>,
}

impl StatelessMeta {
    /// The members.
    #[must_use]
    pub fn members(&self) -> &RequestMeta {
        &self.members
    }

    /// The client; read at the first call.
    ///
    /// # Errors
    /// −32602 if the revision or the capabilities are missing or have another type; −32022 for a revision that is not
    /// supported without a handshake.
    pub fn client(&self) -> Result<&Arc<ClientInfo>, ErrorObject> {
        self.client.get_or_init(|| read(&self.members)).as_ref().map_err(Clone::clone)
    }

    /// True if other requests of the client have the same text.
    fn is_repeated(&self) -> bool {
        self.members.names().all(|name| REPEATED.contains(&name))
    }
}

impl From<RequestMeta> for StatelessMeta {
    fn from(members: RequestMeta) -> Self {
        Self { members, client: OnceLock::new() }
    }
}

fn read(members: &RequestMeta) -> Result<Arc<ClientInfo>, ErrorObject> {
    // MCP 2026-07-28, basic: both are required, so they are checked first.
    members.requested_version()?;
    let capabilities = members.capabilities()?;
    let version = members.version()?;
    let implementation = members.client().unwrap_or_else(|| Implementation::new("", ""));
    Ok(Arc::new(ClientInfo { version, implementation, capabilities }))
}

impl KnownMeta {
    /// The `_meta` of these parameters.
    pub fn of(&self, params: &Params) -> Arc<StatelessMeta> {
        let Some(text) = params.member("_meta").filter(|meta| meta.kind() == Kind::Object) else {
            return Arc::clone(&self.absent);
        };
        if !(MIN_TEXT..=MAX_TEXT).contains(&text.len()) {
            return Arc::new(RequestMeta::of(params).into());
        }
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Arc::clone(known);
        }
        self.read(text)
    }

    /// Reads a copy of the text, which does not keep the rest of its request in memory.
    fn read(&self, text: &RawJson) -> Arc<StatelessMeta> {
        let copy = text.to_copy();
        let meta = Arc::new(StatelessMeta::from(RequestMeta::from_raw(&copy)));
        if meta.is_repeated() && meta.client().is_ok() {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(copy, Arc::clone(&meta));
        }
        meta
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::{JsonObject, code};

    use super::*;

    fn params(meta: &str) -> Params {
        JsonObject::new().with("_meta", RawJson::parse(meta.to_owned()).unwrap()).into()
    }

    fn meta(name: &str, more: &str) -> String {
        format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}{more}}}"#
        )
    }

    fn count(known: &KnownMeta) -> usize {
        known.known.lock().unwrap().len()
    }

    #[test]
    fn the_same_text_is_read_once() {
        let known = KnownMeta::default();
        let (one, other) = (params(&meta("a", "")), params(&meta("b", "")));
        let first = known.of(&one);
        assert_eq!(first.client().unwrap().implementation.name, "a");
        assert!(Arc::ptr_eq(&first, &known.of(&one)));
        assert_eq!(known.of(&other).client().unwrap().implementation.name, "b");
        assert_eq!(count(&known), 2);
        assert!(Arc::ptr_eq(&known.of(&Params::Absent), &known.of(&Params::Absent)));
    }

    #[test]
    fn what_differs_from_request_to_request_is_not_kept() {
        let known = KnownMeta::default();
        let long = format!(r#","{LOG_LEVEL}":"{}""#, "x".repeat(MAX_TEXT));
        for more in [r#","progressToken":7"#, r#","traceparent":"00-1""#, &long] {
            let read = known.of(&params(&meta("a", more)));
            assert_eq!(read.client().unwrap().implementation.name, "a", "{more}");
        }
        assert_eq!(known.of(&params(&meta("a", r#","progressToken":7"#))).members().progress_token(), Some(7.into()));
        assert_eq!(count(&known), 0);
    }

    #[test]
    fn faults_are_found_each_time_and_not_kept() {
        let known = KnownMeta::default();
        let faulty = meta("a", "").replace("2026-07-28", "2025-11-25");
        for _ in 0..2 {
            assert_eq!(known.of(&params(&faulty)).client().unwrap_err().code, code::UNSUPPORTED_PROTOCOL_VERSION);
        }
        for missing in ["{}", r#"{"progressToken":1}"#, "5"] {
            assert_eq!(known.of(&params(missing)).client().unwrap_err().code, code::INVALID_PARAMS);
        }
        assert_eq!(count(&known), 0);
    }

    #[test]
    fn the_number_of_texts_is_bounded() {
        let known = KnownMeta::default();
        for number in 0..2 * MAX_KNOWN + 1 {
            known.of(&params(&meta(&number.to_string(), "")));
            assert!(count(&known) <= MAX_KNOWN);
        }
        assert_eq!(count(&known), 1);
    }
}
