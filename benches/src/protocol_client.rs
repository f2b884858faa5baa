//! A cheap client of either protocol: blocking streams, requests from a template, answers counted by their length or
//! their newline. It counts the bytes in both directions.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use prost::Message;
use protomcp_bufmcp::message::{
    CallToolRequest, ClientCapabilities, InitializeRequest, ListToolsRequest, McpMessage, Payload,
};
use protomcp_bufmcp::{Any, FrameLimits, encode};

use crate::web::TEXT;

/// The protocol of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// JSON-RPC in lines.
    Json,
    /// Frames of proto-mcp.
    Proto,
}

/// A conversation with a server that has the tool `echo`.
pub struct ProtocolClient<R, W> {
    reader: R,
    writer: W,
    protocol: Protocol,
    buffer: Vec<u8>,
    /// Bytes that were read and are not a whole answer yet.
    rest: Vec<u8>,
    /// Bytes of calls, and of their answers.
    bytes: u64,
    arguments: Option<Any>,
    next_id: u64,
}

impl<R: Read, W: Write> ProtocolClient<R, W> {
    /// Begins a conversation, and lists the tools.
    ///
    /// # Errors
    ///
    /// If the server closes its end, or does not have the tool.
    pub fn open(reader: R, writer: W, protocol: Protocol) -> io::Result<Self> {
        let buffer = vec![0; 256 << 10];
        let mut client =
            Self { reader, writer, protocol, buffer, rest: Vec::new(), bytes: 0, arguments: None, next_id: 3 };
        match protocol {
            Protocol::Json => client.open_json()?,
            Protocol::Proto => client.open_proto()?,
        }
        client.bytes = 0;
        Ok(client)
    }

    fn open_json(&mut self) -> io::Result<()> {
        let lines = concat!(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            "\n"
        );
        self.writer.write_all(lines.as_bytes())?;
        self.answers(2).map(drop)
    }

    fn open_proto(&mut self) -> io::Result<()> {
        let capabilities = ClientCapabilities { encodings: vec!["protobuf".into()], ..ClientCapabilities::default() };
        let initialize = InitializeRequest {
            protocol_version: "1.0.0".into(),
            capabilities: Some(capabilities),
            ..InitializeRequest::default()
        };
        let list = ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() };
        let requests = [(1, Payload::InitializeRequest(initialize)), (2, Payload::ListToolsRequest(list))];
        let mut frames = Vec::new();
        for (id, payload) in requests {
            frame(&McpMessage { id, payload: Some(payload) }, &mut frames)?;
        }
        self.writer.write_all(&frames)?;
        let answers = self.answers(2)?;
        let listed = answers.iter().find_map(|answer| match McpMessage::decode(&answer[4..]).ok()?.payload? {
            Payload::ListToolsResponse(list) => list.tools.into_iter().find(|tool| tool.name == "echo"),
            _ => None,
        });
        let tool = listed.ok_or_else(|| io::Error::other("there is no tool echo"))?;
        let input_type = tool.metadata.get("input_type").map_or("", String::as_str);
        self.arguments = Some(match input_type {
            "google.protobuf.Struct" => any_struct(),
            // The text is the only field of the tool's own message.
            other => Any::new(other, field(1, TEXT.as_bytes())),
        });
        Ok(())
    }

    /// The bytes of calls and answers since the beginning.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Calls `echo` this many times, one after the other, and returns the duration of each call.
    ///
    /// # Errors
    ///
    /// If the server closes its end, or an answer lacks the text.
    pub fn one_at_a_time(&mut self, calls: usize) -> io::Result<Vec<Duration>> {
        let mut request = Vec::new();
        (0..calls)
            .map(|_| {
                request.clear();
                self.push_call(&mut request)?;
                let start = Instant::now();
                self.send(&request)?;
                let answers = self.answers(1)?;
                let took = start.elapsed();
                check(&answers[0])?;
                Ok(took)
            })
            .collect()
    }

    /// Calls `echo` this many times with `width` calls in flight, and returns the duration of each call, where the
    /// nth answer is taken for the answer to the nth call.
    ///
    /// # Errors
    ///
    /// If the server closes its end.
    pub fn many_in_flight(&mut self, calls: usize, width: usize) -> io::Result<Vec<Duration>> {
        let (mut samples, mut waiting) = (Vec::with_capacity(calls), VecDeque::with_capacity(width));
        let mut requests = Vec::new();
        while samples.len() < calls {
            requests.clear();
            let room = (calls - samples.len()).min(width) - waiting.len();
            (0..room).try_for_each(|_| self.push_call(&mut requests))?;
            waiting.resize(waiting.len() + room, Instant::now());
            self.send(&requests)?;
            let answered = self.answers(1)?.len().min(waiting.len());
            let now = Instant::now();
            samples.extend(waiting.drain(..answered).map(|sent| now.saturating_duration_since(sent)));
        }
        Ok(samples)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.writer.write_all(bytes)
    }

    fn push_call(&mut self, requests: &mut Vec<u8>) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        match self.protocol {
            Protocol::Json => writeln!(
                requests,
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{TEXT}"}}}}}}"#
            ),
            Protocol::Proto => {
                let call = CallToolRequest {
                    name: "echo".into(),
                    arguments: self.arguments.clone(),
                    ..CallToolRequest::default()
                };
                frame(&McpMessage { id, payload: Some(Payload::CallToolRequest(call)) }, requests)
            }
        }
    }

    /// Reads until there are this many whole answers, and returns all that have arrived.
    fn answers(&mut self, wanted: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut answers = Vec::new();
        while answers.len() < wanted {
            let count = self.reader.read(&mut self.buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.bytes += count as u64;
            self.rest.extend_from_slice(&self.buffer[..count]);
            let mut taken = 0;
            while let Some(size) = self.whole(&self.rest[taken..]) {
                answers.push(self.rest[taken..taken + size].to_vec());
                taken += size;
            }
            self.rest.drain(..taken);
        }
        Ok(answers)
    }

    /// The size of the first answer, once it is whole.
    fn whole(&self, bytes: &[u8]) -> Option<usize> {
        match self.protocol {
            Protocol::Json => bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
            Protocol::Proto => {
                let (prefix, body) = bytes.split_first_chunk::<4>()?;
                let size = u32::from_be_bytes(*prefix) as usize;
                (body.len() >= size).then_some(4 + size)
            }
        }
    }
}

fn frame(message: &McpMessage, frames: &mut Vec<u8>) -> io::Result<()> {
    encode(message, &FrameLimits::default(), frames).map_err(io::Error::other)
}

/// The arguments as an object.
fn any_struct() -> Any {
    let value = field(3, TEXT.as_bytes());
    let entry = [field(1, b"text"), field(2, &value)].concat();
    Any::new("google.protobuf.Struct", field(1, &entry))
}

/// A field with a length.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(value.len() as u64, &mut bytes);
    bytes.extend_from_slice(value);
    bytes
}

/// Both protocols have the text as it is.
fn check(answer: &[u8]) -> io::Result<()> {
    if answer.windows(TEXT.len()).any(|window| window == TEXT.as_bytes()) {
        Ok(())
    } else {
        Err(io::Error::other(format!("unexpected: {}", String::from_utf8_lossy(answer))))
    }
}
