//! Server-sent events, as bytes.

use std::time::Duration;

use bytes::Bytes;
use memchr::{memchr2, memchr2_iter};
use protomcp_types::{Message, Output, Response, SHARE_FROM};

/// A comment, which keeps proxies from closing an idle connection.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// The bytes of a message or an event besides a result; others are as short as that.
const FRAME: usize = 256;

/// JSON text in pieces without a line break. Big parts are shared.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    done: Vec<Bytes>,
    tail: Vec<u8>,
}

impl Pieces {
    /// None yet, with room for the parts of this message that are not shared.
    fn of(message: &Message) -> Self {
        let copied = match message {
            Message::Response(Response { outcome: Ok(body), .. }) => {
                body.segments().map(Bytes::len).filter(|bytes| *bytes < SHARE_FROM).sum()
            }
            _ => 0,
        };
        Self { done: Vec::new(), tail: Vec::with_capacity(FRAME + copied) }
    }

    /// The pieces.
    pub(crate) fn into_vec(mut self) -> Vec<Bytes> {
        if !self.tail.is_empty() {
            self.done.push(self.tail.into());
        }
        self.done
    }
}

impl Output for Pieces {
    fn put(&mut self, piece: &[u8]) {
        let start = self.tail.len();
        self.tail.extend_from_slice(piece);
        // In valid JSON line breaks are between tokens only, so a space can replace them.
        if memchr2(b'\n', b'\r', piece).is_some() {
            let breaks: Vec<_> = memchr2_iter(b'\n', b'\r', &self.tail[start..]).collect();
            breaks.into_iter().for_each(|at| self.tail[start + at] = b' ');
        }
    }

    fn put_shared(&mut self, piece: Bytes) {
        if memchr2(b'\n', b'\r', &piece).is_some() {
            self.put(&piece);
            return;
        }
        if !self.tail.is_empty() {
            self.done.push(std::mem::take(&mut self.tail).into());
        }
        self.done.push(piece);
    }
}

/// One message as JSON text.
pub(crate) fn json(message: &Message) -> Vec<Bytes> {
    let mut out = Pieces::of(message);
    message.write_to(&mut out);
    out.into_vec()
}

/// Several messages as a JSON array.
pub(crate) fn json_array(messages: &[Message]) -> Vec<Bytes> {
    let mut out = Pieces::default();
    for (index, message) in messages.iter().enumerate() {
        out.put(if index == 0 { b"[" } else { b"," });
        message.write_to(&mut out);
    }
    out.put(b"]");
    out.into_vec()
}

/// One message as an event.
pub(crate) fn event(id: Option<&str>, message: &Message) -> Vec<Bytes> {
    let mut out = Pieces::of(message);
    // Names and ids have their own line breaks, so they do not go through `put`.
    if let Some(id) = id {
        out.tail.extend_from_slice(b"id: ");
        out.tail.extend_from_slice(id.as_bytes());
        out.tail.push(b'\n');
    }
    out.tail.extend_from_slice(b"event: message\ndata: ");
    message.write_to(&mut out);
    out.tail.extend_from_slice(b"\n\n");
    out.into_vec()
}

/// The event without a message that opens a stream: it gives the client an id to resume from and the delay before it
/// reconnects (MCP 2025-11-25, basic/transports, Streamable HTTP).
pub(crate) fn opening(id: &str, retry: Duration) -> Bytes {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// The event with the address for POSTs, for clients of the old HTTP+SSE transport.
pub(crate) fn endpoint(uri: &str) -> Bytes {
    format!("event: endpoint\ndata: {uri}\n\n").into()
}

#[cfg(test)]
mod tests {
    use protomcp_types::{JsonBuf, RawJson, RequestId, SHARE_FROM};

    use super::*;

    fn text(pieces: &[Bytes]) -> String {
        String::from_utf8(pieces.concat()).unwrap()
    }

    fn answer(result: &str) -> Message {
        Message::result(RequestId::from(1), JsonBuf::from(RawJson::parse(result.to_owned()).unwrap()))
    }

    #[test]
    fn an_event_is_one_line_of_data_whatever_the_json_looks_like() {
        let message = answer("{\"a\":\r\n[1,\n2]}");
        assert_eq!(
            text(&event(Some("1-2"), &message)),
            "id: 1-2\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":  [1, 2]}}\n\n"
        );
        assert_eq!(text(&event(None, &answer("{}"))).lines().count(), 3);
        let big = format!("{{\"a\":\n\"{}\"}}", "x".repeat(SHARE_FROM));
        assert_eq!(text(&event(None, &answer(&big))).lines().count(), 3);
    }

    #[test]
    fn a_big_result_is_not_copied() {
        let big = RawJson::text(&"x".repeat(SHARE_FROM));
        let at = big.as_bytes().as_ptr();
        let pieces = event(None, &Message::result(RequestId::from(1), JsonBuf::from(big)));
        assert!(pieces.iter().any(|piece| piece.as_ptr() == at));
    }

    #[test]
    fn answers_to_a_batch_are_one_array() {
        assert_eq!(text(&json_array(&[answer("1"), answer("2")])), {
            let one = |result| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}");
            format!("[{},{}]", one(1), one(2))
        });
    }

    #[test]
    fn the_opening_event_has_no_message() {
        assert_eq!(&opening("0-0", Duration::from_millis(500))[..], b"id: 0-0\nretry: 500\ndata: \n\n");
    }
}
