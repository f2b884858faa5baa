//! The settings of a client.

use std::time::Duration;

use protomcp_session::{ClientLimits, Mode};
use protomcp_types::{ClientCapabilities, Implementation, Level, ProtocolVersion, RawJson};

use crate::handlers::Handlers;
use crate::request::RequestService;

/// The settings of a client.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) implementation: Implementation,
    pub(crate) mode: Mode,
    pub(crate) version: ProtocolVersion,
    pub(crate) log_level: Option<Level>,
    pub(crate) limits: ClientLimits,
    /// The time for which a handler may take to answer a server.
    pub(crate) answer_timeout: Duration,
    pub(crate) handlers: Handlers,
    /// The layers around requests.
    pub(crate) service: RequestService,
    /// Capabilities in addition to those that follow from the handlers.
    pub(crate) capabilities: ClientCapabilities,
}

impl Settings {
    pub(crate) fn new(implementation: Implementation) -> Self {
        Self {
            implementation,
            mode: Mode::Auto,
            version: ProtocolVersion::NEWEST_STATEFUL,
            log_level: None,
            limits: ClientLimits::default(),
            answer_timeout: Duration::from_secs(300),
            handlers: Handlers::default(),
            service: RequestService::default(),
            capabilities: ClientCapabilities::new(),
        }
    }

    /// The capabilities that follow from the handlers.
    pub(crate) fn capabilities(&self, offers_roots: bool) -> ClientCapabilities {
        let handlers = &self.handlers;
        let raw = |text: &'static str| RawJson::parse(text).expect("it is an object");
        let mut all = ClientCapabilities::new();
        if offers_roots {
            all = all.with("roots", raw(r#"{"listChanged":true}"#));
        }
        if handlers.sample.is_some() {
            all = all.with("sampling", raw(if handlers.samples_with_tools { r#"{"tools":{}}"# } else { "{}" }));
        }
        if handlers.elicit.is_some() {
            let modes = if handlers.opens_urls { r#"{"form":{},"url":{}}"# } else { "{}" };
            all = all.with("elicitation", raw(modes));
        }
        all.and(&self.capabilities)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::{ElicitAction, ElicitResult, ErrorObject};

    use super::*;
    use crate::handlers::Handler;

    #[test]
    fn capabilities_follow_from_the_handlers() {
        let mut settings = Settings::new(Implementation::new("a", "1"));
        let text = |settings: &Settings, roots| serde_json::to_string(&settings.capabilities(roots)).unwrap();
        assert_eq!(text(&settings, false), "{}");
        assert_eq!(text(&settings, true), r#"{"roots":{"listChanged":true}}"#);
        settings.handlers.elicit = Some(Handler::new(|_, _| async {
            Ok(ElicitResult { action: ElicitAction::Decline, content: None, meta: None })
        }));
        assert_eq!(text(&settings, false), r#"{"elicitation":{}}"#);
        settings.handlers.opens_urls = true;
        settings.handlers.sample = Some(Handler::new(|_, _| async { Err(ErrorObject::internal("no")) }));
        assert_eq!(text(&settings, false), r#"{"sampling":{},"elicitation":{"form":{},"url":{}}}"#);
    }
}
