//! The state of a session that several processes can serve, as a store keeps it.

use std::net::IpAddr;
use std::sync::Arc;

use protomcp_types::{JsonBuf, JsonObject, Level, ProtocolVersion, RawJson};
use serde::de::DeserializeOwned;

use protomcp_session::{ClientInfo, SessionState};

/// The state of a session, for the process that takes it over ([`LeaseStore::save`](crate::LeaseStore::save)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSnapshot {
    /// The state of the session itself.
    pub state: SessionState,
    /// The authenticated user of the session: requests of others are refused.
    pub principal: Option<Arc<str>>,
    /// The address that the session counts for when limits are shared.
    pub address: Option<IpAddr>,
    /// The scopes that requests of the session have needed: who reads their answers needs them, too (OAuth 2.1).
    pub scopes: Vec<String>,
}

impl SessionSnapshot {
    /// The most bytes of a snapshot as JSON. A session with a larger state is not saved.
    pub const MAX_BYTES: usize = 256 << 10;

    /// The snapshot as JSON, for [`SessionSnapshot::from_json`]. It has the names of users and resources.
    #[must_use]
    pub fn to_json(&self) -> JsonBuf {
        let SessionState { client, level, subscriptions, selection } = &self.state;
        let object = JsonBuf::object()
            .text("version", client.version.as_str())
            .value("client", &client.implementation)
            .value("capabilities", &client.capabilities)
            .text("level", level.as_str())
            .value("subscriptions", subscriptions)
            .value("scopes", &self.scopes)
            .text_if("principal", self.principal.as_deref())
            .value("address", &self.address);
        match selection {
            Some(selection) => object.value("selection", selection).finish(),
            None => object.finish(),
        }
    }

    /// The snapshot that [`SessionSnapshot::to_json`] has written; `None`: the text is not a snapshot.
    #[must_use]
    pub fn from_json(text: &RawJson) -> Option<Self> {
        let object = JsonObject::from_raw(text).ok()?;
        let client = ClientInfo {
            version: ProtocolVersion::parse(&member::<String>(&object, "version")?)?,
            implementation: member(&object, "client")?,
            capabilities: member(&object, "capabilities")?,
        };
        let state = SessionState {
            client: Arc::new(client),
            level: Level::parse(&member::<String>(&object, "level")?)?,
            subscriptions: member(&object, "subscriptions")?,
            selection: object.member("selection").map(RawJson::to_copy),
        };
        Some(Self {
            state,
            principal: member::<String>(&object, "principal").map(Into::into),
            address: member(&object, "address")?,
            scopes: member(&object, "scopes")?,
        })
    }
}

fn member<T: DeserializeOwned>(object: &JsonObject, name: &str) -> Option<T> {
    object.member(name)?.to().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_read_as_it_was_written() {
        let client = ClientInfo {
            version: ProtocolVersion::V2025_11_25,
            implementation: RawJson::parse(r#"{"name":"host","version":"1","title":"Host"}"#).unwrap().to().unwrap(),
            capabilities: RawJson::parse(r#"{"roots":{}}"#).unwrap().to().unwrap(),
        };
        let client = Arc::new(client);
        for (selection, principal, address) in [
            (None, None, None),
            (Some(RawJson::parse(r#"{"mode":"open"}"#).unwrap()), Some("ann".into()), Some([127, 0, 0, 1].into())),
        ] {
            let subscriptions = vec!["file:///a".to_owned(), "file:///\"b\"".to_owned()];
            let state = SessionState { client: Arc::clone(&client), level: Level::Alert, subscriptions, selection };
            let snapshot = SessionSnapshot { state, principal, address, scopes: vec!["read".to_owned()] };
            let written = snapshot.to_json().into_raw();
            assert_eq!(SessionSnapshot::from_json(&written), Some(snapshot), "{written}");
        }
        for text in ["{}", "[]", r#"{"version":"2025-11-25"}"#] {
            assert_eq!(SessionSnapshot::from_json(&RawJson::parse(text).unwrap()), None, "{text}");
        }
    }
}
