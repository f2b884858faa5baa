//! A tool process that makes its large results once, at the start, so that they cost it nothing per call.
//!
//! The time of a large call is therefore the time of the bridge and the kernel. `LARGE_SIZE` sets the size of the text
//! in bytes, and `LARGE_ZSTD` compresses it. All other requests get an empty answer.
//!
//! `MANY_TOOLS` sets the number of additional tools. With `NO_ANSWER`, calls are never answered.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use protomcp_codec::{Decoder, Encoder, Field, Frame, Limits, Raw};
use protomcp_envelope::{
    Envelope, Msg, PromptListResponse, ReloadResponse, ResourceListResponse, ResourceTemplateListResponse,
    ToolDefinition, ToolListResponse,
};

fn main() -> io::Result<()> {
    let path = std::env::var_os("PROTOMCP_SOCKET").ok_or_else(|| io::Error::other("PROTOMCP_SOCKET is not set"))?;
    let mut socket = UnixStream::connect(path)?;
    let (mut decoder, mut encoder) = (Decoder::new(Limits::default()), Encoder::new(Limits::default()));
    let (result, tools) = (result(), tools());
    let answered = std::env::var_os("NO_ANSWER").is_none();
    let (mut input, mut output, mut room) = (BytesMut::new(), Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = socket.read(&mut room)?;
        if count == 0 {
            return Ok(());
        }
        input.extend_from_slice(&room[..count]);
        while let Some(frame) = decoder.decode(&mut input).map_err(io::Error::other)? {
            let Frame::Envelope(Envelope { request_id, msg: Some(message), .. }) = frame else { continue };
            // The signal that ends the handshake has no answer; at the end of a reload it is the answer to the reload
            // request.
            let start = matches!(message, Msg::ListTools(_));
            for answer in answers(&message, &tools) {
                let id = if start && matches!(answer, Msg::ReloadResponse(_)) { "" } else { &request_id };
                encoder.encode_envelope(&Envelope::new(id, answer), &mut output).map_err(io::Error::other)?;
            }
            if answered && matches!(message, Msg::CallTool(_)) {
                let mut raw = result.clone();
                raw.header.request_id = request_id;
                encoder.encode_raw_header(&raw, &mut output).map_err(io::Error::other)?;
                socket.write_all(&output)?;
                output.clear();
                socket.write_all(&raw.payload)?;
            }
        }
        socket.write_all(&output)?;
        output.clear();
    }
}

fn answers(message: &Msg, tools: &[ToolDefinition]) -> Vec<Msg> {
    match message {
        Msg::ListTools(_) | Msg::Reload(_) => vec![
            ToolListResponse { tools: tools.to_vec() }.into(),
            ReloadResponse { success: true, error: String::new() }.into(),
        ],
        Msg::ListResourcesRequest(_) => vec![ResourceListResponse::default().into()],
        Msg::ListResourceTemplatesRequest(_) => vec![ResourceTemplateListResponse::default().into()],
        Msg::ListPromptsRequest(_) => vec![PromptListResponse::default().into()],
        _ => Vec::new(),
    }
}

/// Each tool has a description and a schema of a realistic size.
fn tools() -> Vec<ToolDefinition> {
    let large =
        ToolDefinition { name: "large".to_owned(), description: "Large.".to_owned(), ..ToolDefinition::default() };
    let others = (0..number("MANY_TOOLS").unwrap_or(0)).map(|number| ToolDefinition {
        name: format!("tool-{number:05}"),
        description: "Looks up what is known about one item of the catalogue, by its number.".to_owned(),
        input_schema_json: r#"{"type":"object","properties":{"item":{"type":"integer","minimum":1},"verbose":{"type":"boolean"}},"required":["item"]}"#.into(),
        ..ToolDefinition::default()
    });
    others.chain([large]).collect()
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

fn result() -> Raw {
    let size = number("LARGE_SIZE").unwrap_or(100_000_000);
    let mut text = br#"[{"type":"text","text":""#.to_vec();
    text.resize(text.len() + size, b'x');
    text.extend_from_slice(br#""}]"#);
    let raw = Raw::new("", Field::ResultJson, text);
    if std::env::var_os("LARGE_ZSTD").is_some() { raw.compress() } else { raw }
}
