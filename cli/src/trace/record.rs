//! `pmcp record` in front of a command on standard input and output: passes messages on in both directions, as they are.

use std::pin::pin;
use std::time::Duration;

use protomcp_client::{Command, CommandTransport, Running, ServerEnd, StopPolicy};
use protomcp_trace::Party;
use protomcp_transport::lines::Lines;
use protomcp_transport::{Sink, Source, Transport, TransportError, stdio};
use protomcp_types::Message;
use tokio::sync::mpsc;

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
    let stop = StopPolicy { close: LAST_ANSWERS, ..StopPolicy::default() };
    let process = CommandTransport::new(command).stop(stop);
    let process = process.on_stderr(|line| tracing::info!(target: "tool::stderr", "{line}"));
    let running = process.spawn().await.map_err(|error| Failure::from(&error))?;
    recorder.announce();
    pass_on(recorder, Lines::new(reader, writer).with_max_line(max_line), running).await
}

/// Passes the messages on until one end closes. After the end of the host the server has
/// [`LAST_ANSWERS`]. Neither direction waits for the other: a server may read on when its output was read.
async fn pass_on(recorder: &Recorder, host: impl Transport, server: Running) -> Result<(), Failure> {
    let (from_host, to_host) = host.split();
    let (from_server, to_server) = server.split();
    let (refuse, refusals) = mpsc::channel(MAX_REFUSALS);
    let requests = pin!(pass_to_server(recorder, from_host, to_server, refuse));
    let mut answers = pin!(pass_to_host(recorder, from_server, to_host, refusals));
    tokio::select! {
        outcome = &mut answers => return outcome,
        () = requests => {}
        _ = tokio::signal::ctrl_c() => return Ok(()),
    }
    tokio::select! {
        // The host has closed its input, and needs no reason for the end of the server.
        _ = answers => Ok(()),
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Passes the messages of the host on until it closes its end. The input of the server is closed then.
async fn pass_to_server(
    recorder: &Recorder,
    mut host: impl Source,
    mut server: impl Sink,
    refuse: mpsc::Sender<Message>,
) {
    loop {
        match host.next().await {
            Ok(Some(Ok(incoming))) => {
                let messages = messages(incoming);
                messages.iter().for_each(|message| recorder.message(Party::Client, message));
                // The other direction says how the server has ended, after its last messages.
                if let Err(error) = pass(&mut server, messages).await {
                    tracing::info!("the server takes no more messages: {error}");
                }
            }
            Ok(Some(Err(malformed))) => {
                // Without the other direction the conversation is over.
                let _over = refuse.send(Message::error(malformed.id, malformed.error)).await;
            }
            Ok(None) | Err(_) => return,
        }
    }
}

/// Passes the messages of the server on until it ends, or the host takes no more.
async fn pass_to_host(
    recorder: &Recorder,
    mut server: impl Source,
    mut host: impl Sink,
    mut refusals: mpsc::Receiver<Message>,
) -> Result<(), Failure> {
    loop {
        let passed = tokio::select! {
            Some(refusal) = refusals.recv() => pass(&mut host, vec![refusal]).await,
            received = server.next() => match received {
                Ok(Some(Ok(incoming))) => {
                    let messages = messages(incoming);
                    messages.iter().for_each(|message| recorder.message(Party::Server, message));
                    pass(&mut host, messages).await
                }
                Ok(Some(Err(malformed))) => {
                    tracing::warn!("the server has sent text without a message: {}", malformed.error.message);
                    Ok(())
                }
                Ok(None) => return Err(end(&mut server)),
                Err(error) => return Err(Failure::failed(format!("the server has ended: {error}"))),
            },
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

/// The time of a server for its answers after the host has closed its end.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// The most refusals that wait for the host to read.
const MAX_REFUSALS: usize = 16;
