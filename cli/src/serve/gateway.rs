//! The run of a gateway under the control of signals.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::pin::pin;

use protomcp_binary::CommandServer;
use protomcp_client::{Command, CommandTransport};
use protomcp_gateway::{Builder, Gateway, Upstream};
use protomcp_server::layer::tools::{ToolPolicy, ToolPolicyLayer};
use protomcp_server::{Server, Service};
use protomcp_transport::boxed::Boxed;

use crate::advice::with_advice;
use crate::args::{CommandProtocol, Location, StdioCommand, Upstreams};
use crate::exit::Failure;
use crate::proto_remote::ProtoRemote;
use crate::remote::Remote;
use crate::serve::run::{Signals, Wish};

/// Names the flags without effect.
pub(super) fn warn(idle: &[String]) {
    for flag in idle {
        tracing::warn!("{flag} has no effect on servers: it is for tool files");
    }
}

/// Connects the servers, those of proto-mcp with these settings. A signal ends the attempt.
pub(super) async fn open(servers: &Upstreams, remote: &ProtoRemote, signals: &mut Signals) -> Result<Gateway, Failure> {
    tracing::info!("connecting to {}", servers.names());
    let mut opening = pin!(builder(servers, remote)?.open());
    loop {
        tokio::select! {
            outcome = &mut opening => return outcome.map_err(|error| Failure::failed(with_advice(&error.to_string()))),
            signal = signals.next() => {
                if signal == Wish::Stop {
                    return Err(Failure::failed("interrupted while connecting"));
                }
            }
        }
    }
}

/// The server for clients, with the tools that they may see and call.
pub(super) fn server(gateway: &Gateway, servers: &Upstreams) -> Server<impl Service + use<>> {
    let policy = servers.policy.clone().unwrap_or(ToolPolicy::Block(BTreeSet::new()));
    gateway.server().layer(ToolPolicyLayer::new(policy))
}

/// The gateway to the servers. Several have prefixes.
fn builder(servers: &Upstreams, remote: &ProtoRemote) -> Result<Builder, Failure> {
    let remote = remote.clone().tls(servers.tls.clone());
    let mut gateway = Gateway::builder("protomcp", env!("CARGO_PKG_VERSION"))
        .limits(servers.limits)
        .server_limits(servers.server_limits);
    let is_single = servers.entries.len() == 1;
    for entry in &servers.entries {
        let upstream = match &entry.location {
            Location::Url { url, headers } => {
                let remote = Remote::new(url, headers)?.tls(servers.tls.clone());
                let remote = remote.answer_timeout(servers.limits.total_timeout);
                Upstream::new(entry.name.clone(), move || {
                    let transport = remote.transport();
                    async move { Ok(Boxed::new(transport)) }
                })
            }
            Location::Proto { server, token } => {
                let remote = remote.for_server().token(token.clone(), server);
                let server = server.clone();
                Upstream::new(entry.name.clone(), move || {
                    let (remote, server) = (remote.clone(), server.clone());
                    async move { remote.connect(&server).await }
                })
            }
            Location::Command(command) => process(
                &entry.name,
                command,
                is_single,
                remote.for_server().command_within(servers.limits.open_timeout),
            ),
        };
        let upstream = servers.watches.iter().cloned().fold(upstream.sharing(servers.sharing(entry)), Upstream::watch);
        gateway = gateway.upstream(if is_single { upstream } else { upstream.prefix(entry.prefix()) });
    }
    Ok(gateway)
}

/// A server that a command starts. Among several, the lines of its standard error carry its name.
fn process(name: &str, command: &StdioCommand, is_single: bool, remote: ProtoRemote) -> Upstream {
    let mut start = Command::new(&command.program).args(&command.arguments);
    for (variable, value) in &command.environment {
        start = start.env(variable, value);
    }
    if let Some(directory) = &command.directory {
        start = start.current_dir(directory);
    }
    let shown = name.to_owned();
    let log = move |line: &str| match is_single {
        true => tracing::info!(target: "tool::stderr", "{line}"),
        false => tracing::info!(target: "tool::stderr", "{shown}: {line}"),
    };
    match command.protocol {
        CommandProtocol::Json => {
            let process = CommandTransport::new(start).on_stderr(log);
            Upstream::new(name.to_owned(), move || {
                let process = process.clone();
                async move { Ok(Boxed::new(process.spawn().await?)) }
            })
        }
        CommandProtocol::Proto => {
            let process = CommandServer::new(start).on_stderr(log);
            Upstream::new(name.to_owned(), move || {
                let (remote, process) = (remote.clone(), process.clone());
                async move { remote.start(&process).await }
            })
        }
    }
}

/// Serves `connections` until they end, then ends the sessions with the servers. The first signal drains: no new requests
/// are taken, and running ones may finish. The second one ends everything at once.
pub(super) async fn serve<E: Display>(
    gateway: Gateway,
    connections: impl Future<Output = Result<(), E>>,
    mut signals: Signals,
    on_drain: impl FnOnce(),
) -> Result<(), E> {
    let mut connections = pin!(connections);
    let mut on_drain = Some(on_drain);
    let outcome = loop {
        tokio::select! {
            outcome = &mut connections => break outcome,
            signal = signals.next() => match (signal, on_drain.take()) {
                (Wish::Stop, Some(on_drain)) => {
                    tracing::info!("draining; press Ctrl-C again to exit now");
                    on_drain();
                    gateway.clients().shutdown();
                }
                (Wish::Stop, None) => return Ok(()),
                (Wish::Reload, waiting) => {
                    on_drain = waiting;
                    if gateway.is_watching() {
                        gateway.reload();
                    } else {
                        tracing::info!("servers reload by themselves; nothing to do");
                    }
                }
            }
        }
    };
    let mut closing = pin!(gateway.close());
    loop {
        tokio::select! {
            () = &mut closing => return outcome,
            signal = signals.next() => {
                if signal == Wish::Stop {
                    return outcome;
                }
            }
        }
    }
}
