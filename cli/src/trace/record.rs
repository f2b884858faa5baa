//! `pmcp record` in front of a command on standard input and output: passes messages on in both directions, as they are.

use protomcp_client::{Command, CommandTransport, Running, ServerEnd};
use protomcp_trace::Party;
use protomcp_transport::lines::Lines;
use protomcp_transport::{Sink, Source, Transport, TransportError, stdio};
use protomcp_types::Message;

use crate::args::tool::ToolFlags;
use crate::args::upstream_config::StdioCommand;
use crate::exit::Failure;
use crate::log;
use crate::recorder::Recorder;
use crate::trace::parts::messages;

/// Records until the host or the server ends the conversation, or a signal does.
pub(super) async fn record(
    server: &StdioCommand,
    max_line: usize,
    tool: &ToolFlags,
    recorder: &Recorder,
) -> Result<(), Failure> {
    // Before anything else can write to descriptor 1.
    let (reader, writer) =
        stdio::take().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(tool.log_level, tool.log);
    let mut command = server.arguments.iter().fold(Command::new(&server.program), Command::arg);
    for (variable, value) in &server.environment {
        command = command.env(variable, value);
    }
    if let Some(directory) = &server.directory {
        command = command.current_dir(directory);
    }
    let process = CommandTransport::new(command).on_stderr(|line| tracing::info!(target: "tool::stderr", "{line}"));
    let running = process.spawn().await.map_err(|error| Failure::from(&error))?;
    recorder.announce();
    pass_on(recorder, Lines::new(reader, writer).with_max_line(max_line), running).await
}

/// Passes the messages on until one end closes.
async fn pass_on(recorder: &Recorder, host: impl Transport, server: Running) -> Result<(), Failure> {
    let (mut from_host, mut to_host) = host.split();
    let (mut from_server, mut to_server) = server.split();
    loop {
        let passed = tokio::select! {
            received = from_host.next() => match received {
                Ok(Some(Ok(incoming))) => {
                    let messages = messages(incoming);
                    messages.iter().for_each(|message| recorder.message(Party::Client, message));
                    // Its source says how it has ended, after its last messages.
                    if let Err(error) = pass(&mut to_server, messages).await {
                        tracing::info!("the server takes no more messages: {error}");
                    }
                    Ok(())
                }
                Ok(Some(Err(malformed))) => {
                    let refusal = Message::error(malformed.id, malformed.error);
                    pass(&mut to_host, vec![refusal]).await
                }
                Ok(None) | Err(_) => return Ok(()),
            },
            received = from_server.next() => match received {
                Ok(Some(Ok(incoming))) => {
                    let messages = messages(incoming);
                    messages.iter().for_each(|message| recorder.message(Party::Server, message));
                    pass(&mut to_host, messages).await
                }
                Ok(Some(Err(malformed))) => {
                    tracing::warn!("the server has sent text without a message: {}", malformed.error.message);
                    Ok(())
                }
                Ok(None) => return Err(end(&mut from_server)),
                Err(error) => return Err(Failure::failed(format!("the server has ended: {error}"))),
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        if let Err(error) = passed {
            tracing::info!("the conversation has ended: {error}");
            return Ok(());
        }
    }
}

/// The end of a server that the host still uses.
fn end(server: &mut impl Source) -> Failure {
    let facts = server.extensions();
    let why = facts.find::<ServerEnd>().map_or("", |end| end.0.as_str());
    // The log has the output of the server, if it shows that.
    let why = if log::shows_tools() { why.lines().next().unwrap_or_default() } else { why };
    match why {
        "" => Failure::failed("the server closed the connection"),
        why => Failure::failed(format!("the server closed the connection: {why}")),
    }
}

async fn pass(sink: &mut impl Sink, messages: Vec<Message>) -> Result<(), TransportError> {
    for message in messages {
        sink.send(message, None)?;
    }
    sink.flush().await
}
