//! Shows the messages of a link to an observer, such as a trace.

use std::fmt;
use std::sync::Arc;

use protomcp_codec::{Encoder, Limits, Raw};
use protomcp_envelope::{Envelope, message_name};
#[cfg(feature = "json")]
use serde_json::Value;

use crate::config::Side;
#[cfg(feature = "json")]
use crate::shown;

/// Sees each message of a link once: a received one before it is handled, a sent one when it is queued. Runs on the task of
/// the link, so it must neither wait nor panic.
#[derive(Clone)]
pub struct Tap(Arc<See>);

type See = dyn Fn(&Passing<'_>) + Send + Sync;

impl Tap {
    /// A tap that shows messages to `see`.
    pub fn new(see: impl Fn(&Passing<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }

    pub(crate) fn envelope(&self, sender: Side, envelope: &Envelope) {
        if let Some(message) = &envelope.msg {
            let content = Content::Envelope(envelope);
            (self.0)(&Passing { sender, kind: message_name(message), id: &envelope.request_id, content });
        }
    }

    pub(crate) fn raw(&self, sender: Side, raw: &Raw) {
        (self.0)(&Passing { sender, kind: "raw_header", id: &raw.header.request_id, content: Content::Raw(raw) });
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap(..)")
    }
}

/// A message on its way.
#[derive(Debug)]
pub struct Passing<'a> {
    sender: Side,
    kind: &'static str,
    id: &'a str,
    content: Content<'a>,
}

#[derive(Debug)]
enum Content<'a> {
    Envelope(&'a Envelope),
    Raw(&'a Raw),
}

impl Passing<'_> {
    /// The end that sends it.
    #[must_use]
    pub fn sender(&self) -> Side {
        self.sender
    }

    /// The name of the message in its envelope, such as `call_tool`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The id of its request; empty for a notification.
    #[must_use]
    pub fn request_id(&self) -> &str {
        self.id
    }

    /// The frame as it is on the wire: four bytes of length, the envelope, and the bytes of a raw payload. Empty if it is
    /// too large to be sent.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(Limits::default());
        let encoded = match self.content {
            Content::Envelope(envelope) => encoder.encode_envelope(envelope, &mut bytes),
            Content::Raw(raw) => encoder.encode_raw(raw, &mut bytes),
        };
        if encoded.is_err() {
            bytes.clear();
        }
        bytes
    }

    /// The message as JSON: the members of its envelope, and its content under its name, such as
    /// `{"request_id": "1", "call_tool": {"name": "add", "arguments_json": "[1,2]"}}`. Fields with the default value of
    /// protobuf are left out. In place of bytes that are not JSON text, such as a piece of a result, is their number:
    /// `{"bytes": 65536}`.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self.content {
            Content::Envelope(envelope) => shown::envelope(envelope),
            Content::Raw(raw) => shown::raw(raw),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use bytes::BytesMut;
    use protomcp_envelope::{CallToolRequest, CallToolResponse};

    use super::*;
    use crate::config::Config;
    use crate::connection::Connection;
    use crate::id::CallIds;

    #[test]
    fn a_tap_sees_both_directions_once() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let tap = Tap::new({
            let seen = Arc::clone(&seen);
            move |passing| {
                let entry = (passing.sender(), passing.kind(), passing.request_id().to_owned(), passing.frame().len());
                seen.lock().unwrap().push(entry);
            }
        });
        let (now, ids) = (Instant::now(), CallIds::default());
        let mut bridge = Connection::new(Side::Bridge, Config { tap: Some(tap), ..Config::default() }, ids.clone());
        let mut tool = Connection::new(Side::Tool, Config::default(), CallIds::default());
        let call = ids.next();
        bridge.call(now, call, CallToolRequest { name: "add".into(), ..Default::default() }.into(), Duration::MAX);
        let carry = |from: &mut Connection, to: &mut Connection| {
            let mut bytes = Vec::new();
            while from.poll_transmit(&mut bytes) {}
            let length = bytes.len();
            to.handle_bytes(now, &mut BytesMut::from(&bytes[..])).unwrap();
            length
        };
        let sent = carry(&mut bridge, &mut tool);
        tool.reply(&call.to_string(), CallToolResponse { result_json: "3".into(), ..Default::default() }.into());
        let received = carry(&mut tool, &mut bridge);
        let id = call.to_string();
        assert_eq!(
            *seen.lock().unwrap(),
            [(Side::Bridge, "call_tool", id.clone(), sent), (Side::Tool, "call_result", id, received)]
        );
    }
}
