//! Serves the page of `pmcp playground`.

use std::time::Duration;

use protomcp_bridge::open_files;
use protomcp_http::{Config, Credential, Listener, ListenerConfig, StreamableHttp};
use protomcp_playground::{Calls, Journal, Playground, Reload, Token};
use tokio::runtime;

use crate::args::PlaygroundOptions;
use crate::exit::{self, Failure};
use crate::log;
use crate::serve::binary::Terms;
use crate::serve::listeners::{self, Listeners};
use crate::serve::run::{Signals, failure, prepare};
use crate::serve::{LAST_TASKS, joined};

/// The time in which connections must close after the last call.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until a signal ends it.
pub(crate) fn run(options: PlaygroundOptions) -> Result<(), Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async { joined(tokio::spawn(serve(options)).await) });
    runtime.shutdown_timeout(LAST_TASKS);
    outcome
}

async fn serve(options: PlaygroundOptions) -> Result<(), Failure> {
    let token = Token::random().map_err(|error| Failure::failed(error.to_string()))?;
    let journal = Journal::default();
    log::copy({
        let (journal, secret) = (journal.clone(), token.secret().to_owned());
        // An export of the events is for others to read.
        move |line| journal.log(&line.replace(&secret, "…"))
    });
    log::start(options.tool.log_level, options.tool.log);
    let signals = Signals::new()?;
    let listeners =
        listeners::open("--port", &options.host, options.port, |addresses| options.permit(addresses)).await?;
    let Listeners { sockets, address } = listeners;
    let config = ListenerConfig::default().with_drain_timeout(options.tool.limits.drain_timeout + CLOSE_TIMEOUT);
    // Before the tool process starts, which gets the original limit.
    if let Err(error) = open_files::raise(config.open_files()) {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
    let name = if options.host.contains(':') { format!("[{}]", options.host) } else { options.host.clone() };
    let origin = format!("http://{name}:{}", address.port());
    let (bridge, starting) = options.tool.bridge(&options.path, true).tap(journal.tap()).launch();
    let access = Config::default().require(Credential::token(token.secret())).allow_host(&options.host);
    let server = Terms::new(&options.tool).json(bridge.server());
    // The bridge says more about a call that is too late.
    let calls = Calls::new(server.clone()).with_timeout(options.tool.limits.call_timeout.saturating_add(CLOSE_TIMEOUT));
    let service = StreamableHttp::new(server, access);
    let run = prepare((bridge, starting), signals, format!("{} in the playground", options.path.display()));
    let handle = run.handle();
    let page = Playground::new(service.clone(), calls, journal.clone(), Reload::new(move || handle.reload()));
    tracing::info!("listening on {origin}/mcp");
    let url = token.url(&origin);
    if tracing::enabled!(tracing::Level::INFO) {
        tracing::info!("open {url}");
    } else {
        exit::print(&format!("{url}\n"))?;
    }
    let ended = {
        let service = service.clone();
        async move { service.drained().await }
    };
    let run = run.on_drain(move || journal.close()).on_stopped(move || service.shut_down());
    let listener = Listener::from_sockets(sockets).with_config(config);
    let serving = listener.serve(page).with_graceful_shutdown(ended);
    let outcome = run.serve(async move { serving.await.map_err(|error| format!("cannot serve: {error}")) }).await;
    outcome.map_err(|error| failure(&error))
}
