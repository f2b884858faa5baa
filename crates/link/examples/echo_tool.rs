//! A tool process written on the machine alone: one thread, one socket, no runtime.
//!
//! It offers one tool, `echo`, which answers with its arguments as text. Give it the socket of a bridge:
//!
//! ```text
//! PROTOMCP_SOCKET=/path/to/socket echo_tool
//! ```

use std::env;
use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use bytes::BytesMut;
use protomcp_envelope::{CallToolRequest, CallToolResponse, Msg, ReloadResponse, ToolDefinition, ToolListResponse};
use protomcp_link::{CallIds, Closed, Config, Connection, Event, Side};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::var_os("PROTOMCP_SOCKET").ok_or("PROTOMCP_SOCKET is not set; start this through `pmcp dev`")?;
    let mut socket = UnixStream::connect(path)?;
    let mut connection = Connection::new(Side::Tool, Config::default(), CallIds::default());
    let (mut room, mut input, mut output) = (vec![0; 64 << 10], BytesMut::new(), Vec::new());
    while connection.closed().is_none() {
        let read = socket.read(&mut room)?;
        input.extend_from_slice(&room[..read]);
        if read == 0 {
            connection.close(Closed::ByPeer);
        }
        connection.handle_bytes(Instant::now(), &mut input)?;
        while let Some(event) = connection.poll_event() {
            if let Event::Request { id, message, .. } = event {
                answer(&mut connection, &id, message);
            }
        }
        while connection.poll_transmit(&mut output) {}
        socket.write_all(&output)?;
        output.clear();
    }
    Ok(())
}

fn answer(connection: &mut Connection, id: &str, message: Msg) {
    match message {
        Msg::ListTools(_) => {
            connection.reply(id, tools().into());
            connection.notify(registered().into());
        }
        Msg::Reload(_) => {
            connection.reply(id, registered().into());
            connection.notify(tools().into());
            connection.notify(registered().into());
        }
        Msg::CallTool(CallToolRequest { arguments_json, .. }) => {
            connection.reply(id, CallToolResponse { result_json: arguments_json, ..Default::default() }.into());
        }
        // Questions this process has no answer to; the bridge goes on without.
        _ => {}
    }
}

fn tools() -> ToolListResponse {
    let echo = ToolDefinition {
        name: "echo".into(),
        description: "Answers with its arguments.".into(),
        input_schema_json: r#"{"type":"object"}"#.into(),
        ..Default::default()
    };
    ToolListResponse { tools: vec![echo] }
}

/// The signal that everything has been said about the tools; also the answer to a reload request.
fn registered() -> ReloadResponse {
    ReloadResponse { success: true, error: String::new() }
}
