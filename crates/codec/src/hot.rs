//! Fast paths for the two most frequent messages.
//!
//! They read a call and its result in the shape in which every SDK writes them, without trying each field against some
//! forty messages as a generic decoder does. Any other shape (an unknown field, a rare one, a number in more bytes than
//! it needs, text that is not UTF-8) is left to the generic decoder, which also reports errors. A property test
//! compares both.

use bytes::Bytes;
use protomcp_envelope::{CallToolRequest, CallToolResponse, Envelope, Msg};

/// Fills the empty `envelope` from `frame`. Returns false and changes nothing if the shape is another one.
pub(crate) fn fill(envelope: &mut Envelope, frame: &[u8]) -> bool {
    match frame.first() {
        Some(&CALL_RESULT) => fill_result(envelope, frame).is_some(),
        Some(&CALL_TOOL) => fill_call(envelope, frame).is_some(),
        _ => false,
    }
}

fn fill_result(envelope: &mut Envelope, frame: &[u8]) -> Option<()> {
    let (message, request_id) = split(frame)?;
    let (mut is_error, mut result, mut structured) = (false, &[][..], &[][..]);
    let mut fields = Fields(message);
    while let Some(key) = fields.key() {
        match key {
            RESULT_JSON => result = fields.bytes()?,
            STRUCTURED_JSON => structured = fields.bytes()?,
            IS_ERROR => is_error = fields.flag()?,
            _ => return None,
        }
    }
    envelope.msg = Some(Msg::CallResult(CallToolResponse {
        is_error,
        result_json: Bytes::copy_from_slice(result),
        structured_content_json: Bytes::copy_from_slice(structured),
        ..CallToolResponse::default()
    }));
    envelope.request_id.push_str(request_id);
    Some(())
}

fn fill_call(envelope: &mut Envelope, frame: &[u8]) -> Option<()> {
    let (message, request_id) = split(frame)?;
    let (mut name, mut arguments, mut token) = ("", &[][..], "");
    let mut fields = Fields(message);
    while let Some(key) = fields.key() {
        match key {
            NAME => name = fields.text()?,
            ARGUMENTS_JSON => arguments = fields.bytes()?,
            PROGRESS_TOKEN => token = fields.text()?,
            _ => return None,
        }
    }
    envelope.msg = Some(Msg::CallTool(CallToolRequest {
        name: name.to_owned(),
        arguments_json: Bytes::copy_from_slice(arguments),
        progress_token: token.to_owned(),
        ..CallToolRequest::default()
    }));
    envelope.request_id.push_str(request_id);
    Some(())
}

/// The first message of an envelope and the request id, if there is nothing else in it.
fn split(frame: &[u8]) -> Option<(&[u8], &str)> {
    let mut fields = Fields(frame);
    fields.key()?;
    let message = fields.bytes()?;
    let mut request_id = "";
    while let Some(key) = fields.key() {
        if key != REQUEST_ID {
            return None;
        }
        request_id = fields.text()?;
    }
    Some((message, request_id))
}

/// The rest of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The first byte of the next field, which is its whole key for fields below 16.
    fn key(&mut self) -> Option<u8> {
        let (key, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*key)
    }

    fn flag(&mut self) -> Option<bool> {
        self.key().filter(|value| *value <= 1).map(|value| value == 1)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = match *self.0 {
            [length @ 0..0x80, ref rest @ ..] => {
                self.0 = rest;
                usize::from(length)
            }
            [low, high @ 1..0x80, ref rest @ ..] => {
                self.0 = rest;
                usize::from(low & 0x7f) | usize::from(high) << 7
            }
            _ => return None,
        };
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

/// The key of a field that holds text, bytes or a message.
const fn sized(field: u8) -> u8 {
    field << 3 | 2
}

const CALL_TOOL: u8 = sized(3);
const CALL_RESULT: u8 = sized(6);
const REQUEST_ID: u8 = sized(14);

const NAME: u8 = sized(1);
const ARGUMENTS_JSON: u8 = sized(2);
const PROGRESS_TOKEN: u8 = sized(3);

const IS_ERROR: u8 = 1 << 3;
const RESULT_JSON: u8 = sized(2);
const STRUCTURED_JSON: u8 = sized(6);

#[cfg(test)]
mod tests {
    use prost::Message;
    use protomcp_envelope::ListToolsRequest;

    use super::*;

    #[track_caller]
    fn check(message: impl Into<Msg>, taken: bool) {
        let envelope = Envelope::new("req-1", message);
        let mut filled = Envelope::default();
        assert_eq!(fill(&mut filled, &envelope.encode_to_vec()), taken, "{envelope:?}");
        assert_eq!(filled, if taken { envelope } else { Envelope::default() });
    }

    #[test]
    fn only_the_usual_shapes_take_the_fast_path() {
        let call = CallToolRequest {
            name: "echo".to_owned(),
            arguments_json: r#"{"text":"a"}"#.into(),
            progress_token: "7".to_owned(),
            ..CallToolRequest::default()
        };
        let result = CallToolResponse {
            is_error: true,
            result_json: "x".repeat(200).into(),
            structured_content_json: "{}".into(),
            ..CallToolResponse::default()
        };
        check(call.clone(), true);
        check(CallToolRequest::default(), true);
        check(result.clone(), true);
        check(CallToolResponse::default(), true);
        check(CallToolRequest { metadata_json: "{}".into(), ..call }, false);
        check(CallToolResponse { enable_tools: vec!["a".to_owned()], ..result }, false);
        check(ListToolsRequest {}, false);
    }

    #[test]
    fn lengths_of_two_bytes_are_read_and_no_longer_ones() {
        for (size, taken) in [(127, true), (128, true), (16_000, true), (17_000, false)] {
            let result_json = vec![b'x'; size].into();
            check(CallToolResponse { result_json, ..CallToolResponse::default() }, taken);
        }
    }
}
