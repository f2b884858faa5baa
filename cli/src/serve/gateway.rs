//! The run of a gateway under the control of signals.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fmt::Display;
use std::future;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protomcp_bridge::SpawnError;
use protomcp_bufmcp::CommandServer;
use protomcp_client::{Command, CommandTransport};
use protomcp_gateway::{Builder, Gateway, GatewayError, Upstream};
use protomcp_server::layer::tools::{ToolPolicy, ToolPolicyLayer};
use protomcp_server::{Server, Service};
#[cfg(feature = "playground")]
use protomcp_transport::Direction;
use protomcp_transport::boxed::Boxed;
#[cfg(feature = "playground")]
use protomcp_types::Message;

use crate::advice::with_advice;
use crate::args::upstream::Upstreams;
use crate::args::upstream_config::{CommandProtocol, Location, StdioCommand};
use crate::exit::Failure;
use crate::log;
use crate::proto_remote::ProtoRemote;
use crate::remote::Remote;
use crate::serve::run::{Signals, Wish};
use crate::serve::service_manager;
use crate::serve::status::StatusLayer;

/// The time after which the author of a file hears that it does not answer.
const SLOW: Duration = Duration::from_secs(30);

/// Notes a choice that was made for the user.
pub(super) fn note(servers: &Upstreams) {
    if let Some(file) = &servers.file {
        tracing::info!("{}", file.note());
    }
}

/// Refuses a command whose program cannot be found.
pub(super) fn check(servers: &Upstreams) -> Result<(), Failure> {
    Misnamed::default().check(servers)
}

/// Connects the servers, the ones of proto-mcp with these settings, after a last change of the gateway. A signal ends the
/// attempt.
pub(super) async fn open(
    servers: &Upstreams,
    remote: &ProtoRemote,
    change: impl FnOnce(Builder) -> Builder,
    signals: &mut Signals,
) -> Result<Gateway, Failure> {
    let misnamed = Misnamed::default();
    let builder = builder(servers, remote, &misnamed, |upstream| upstream)?;
    opened(change(builder), servers, &misnamed, signals).await
}

/// Like [`open`], and shows `see` the messages to and from the servers.
#[cfg(feature = "playground")]
pub(super) async fn open_shown(
    servers: &Upstreams,
    remote: &ProtoRemote,
    see: impl Fn(Direction, &Message) + Clone + Send + Sync + 'static,
    signals: &mut Signals,
) -> Result<Gateway, Failure> {
    let misnamed = Misnamed::default();
    let builder = builder(servers, remote, &misnamed, |upstream| upstream.observe(see.clone()))?;
    opened(builder, servers, &misnamed, signals).await
}

async fn opened(
    builder: Builder,
    servers: &Upstreams,
    misnamed: &Misnamed,
    signals: &mut Signals,
) -> Result<Gateway, Failure> {
    tracing::info!("connecting to {}", servers.names());
    let mut opening = pin!(builder.open());
    let mut waiting = pin!(async {
        tokio::time::sleep(SLOW).await;
        if let Some(file) = &servers.file {
            tracing::warn!("no answer for {SLOW:?}: {}", file.silent());
        }
        future::pending::<()>().await;
    });
    loop {
        tokio::select! {
            outcome = &mut opening => return outcome.map_err(|error| misnamed.failure(&error)),
            () = &mut waiting => {}
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
    gateway.server().layer(ToolPolicyLayer::new(policy)).layer(StatusLayer)
}

/// Remembers that a command names no program, which is an error in the command line or in a file it names.
#[derive(Debug, Clone, Default)]
struct Misnamed(Arc<AtomicBool>);

impl Misnamed {
    /// Refuses the only command if its program cannot be found: no change of a file that is watched would help.
    fn check(&self, servers: &Upstreams) -> Result<(), Failure> {
        match &servers.entries[..] {
            [entry] => match &entry.location {
                Location::Command(command) if !is_found(command) => {
                    Err(Failure::usage(format!("program not found: {}", command.program.to_string_lossy())))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Notes the reason why a command was not started.
    fn note(&self, error: &(dyn Error + 'static)) {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let inner = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref()?.downcast_ref());
            if let Some(spawn) = error.downcast_ref::<SpawnError>().or(inner)
                && Failure::from(spawn).is_usage()
            {
                self.0.store(true, Ordering::Relaxed);
            }
            cause = error.source();
        }
    }

    /// No server can be reached.
    fn failure(&self, error: &GatewayError) -> Failure {
        let text = with_advice(&error.to_string());
        if self.0.load(Ordering::Relaxed) { Failure::usage(text) } else { Failure::failed(text) }
    }
}

/// False for a name that is in no directory of the search path. A path may come to exist.
fn is_found(command: &StdioCommand) -> bool {
    let program = Path::new(&command.program);
    let own = command.environment.iter().find(|(name, _)| *name == "PATH").map(|(_, path)| path.into());
    match own.or_else(|| env::var_os("PATH")) {
        Some(path) if program.components().count() == 1 && program.is_relative() => {
            env::split_paths(&path).any(|directory| directory.join(program).is_file())
        }
        _ => true,
    }
}

/// The gateway to the servers, each of them after a last change. Several have prefixes.
fn builder(
    servers: &Upstreams,
    remote: &ProtoRemote,
    misnamed: &Misnamed,
    change: impl Fn(Upstream) -> Upstream,
) -> Result<Builder, Failure> {
    let remote = remote.clone().tls(servers.tls.clone());
    let mut gateway = Gateway::builder("protomcp", env!("CARGO_PKG_VERSION"))
        .limits(servers.limits)
        .server_limits(servers.server_limits);
    let is_single = servers.entries.len() == 1;
    for entry in &servers.entries {
        let upstream = match &entry.location {
            Location::Url { url, headers, client } => {
                let remote = Remote::new(url, headers, client.as_ref())?.tls(servers.tls.clone());
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
                misnamed,
            ),
        };
        let upstream = upstream.mode(servers.mode());
        let upstream = if log::shows_tools() { upstream.with_logged_output() } else { upstream };
        let upstream = match servers.file.clone() {
            Some(file) => upstream.explain_failures(move |failure| file.hint(failure)),
            None => upstream,
        };
        let upstream = servers.watches.iter().cloned().fold(upstream.sharing(servers.sharing(entry)), Upstream::watch);
        let upstream = change(upstream);
        gateway = gateway.upstream(if is_single { upstream } else { upstream.prefix(entry.prefix()) });
    }
    Ok(gateway)
}

/// A server that a command starts. Among several, the lines of its standard error carry its name.
fn process(name: &str, command: &StdioCommand, is_single: bool, remote: ProtoRemote, misnamed: &Misnamed) -> Upstream {
    let mut start = Command::new(&command.program).args(&command.arguments);
    for (variable, value) in &command.environment {
        start = start.env(variable, value);
    }
    if let Some(directory) = &command.directory {
        start = start.current_dir(directory);
    }
    let shown = name.to_owned();
    let show = move |line: &str| {
        if is_single {
            tracing::info!(target: "tool::stderr", "{line}");
        } else {
            tracing::info!(target: "tool::stderr", "{shown}: {line}");
        }
    };
    let misnamed = misnamed.clone();
    match command.protocol {
        CommandProtocol::Json => {
            let process = CommandTransport::new(start).on_stderr(show);
            Upstream::new(name.to_owned(), move || {
                let (process, misnamed) = (process.clone(), misnamed.clone());
                async move { Ok(Boxed::new(process.spawn().await.inspect_err(|error| misnamed.note(error))?)) }
            })
        }
        CommandProtocol::Proto => {
            let process = CommandServer::new(start).on_stderr(show);
            Upstream::new(name.to_owned(), move || {
                let (remote, process, misnamed) = (remote.clone(), process.clone(), misnamed.clone());
                async move { remote.start(&process).await.inspect_err(|error| misnamed.note(&**error)) }
            })
        }
    }
}

/// Serves `connections` until they end, then ends the sessions with the servers. The first signal drains: no new
/// requests are taken, and running ones may finish. The second one ends everything immediately.
pub(super) async fn serve<E: Display>(
    gateway: Gateway,
    connections: impl Future<Output = Result<(), E>>,
    mut signals: Signals,
    on_drain: impl FnOnce(),
) -> Result<(), E> {
    service_manager::ready();
    let mut connections = pin!(connections);
    let mut on_drain = Some(on_drain);
    let outcome = loop {
        tokio::select! {
            outcome = &mut connections => break outcome,
            signal = signals.next() => match (signal, on_drain.take()) {
                (Wish::Stop, Some(on_drain)) => {
                    tracing::info!("draining; press Ctrl-C again to exit now");
                    service_manager::stopping();
                    on_drain();
                    gateway.clients().shutdown();
                }
                (Wish::Stop, None) => return Ok(()),
                (Wish::Reload, waiting) => {
                    on_drain = waiting;
                    if gateway.is_watching() {
                        gateway.reload();
                    } else {
                        tracing::info!("no server is watched, so that nothing is reloaded; restart pmcp to start servers again");
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
