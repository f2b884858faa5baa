//! Serves the page of `pmcp playground`.

use std::time::Duration;

use protomcp_bridge::open_files;
use protomcp_http::{Config, Credential, Listener, ListenerConfig, StreamableHttp};
use protomcp_playground::{Calls, Journal, Playground, Reload, Token};
use protomcp_server::{Server, Service};
use tokio::net::TcpListener;
use tokio::runtime;

use crate::args::http::in_url;
use crate::args::options::Source;
use crate::args::playground::options::PlaygroundOptions;
use crate::args::upstream_config::Entry;
use crate::exit::{self, Failure};
use crate::log;
use crate::remote;
use crate::serve::gateway;
use crate::serve::host_views;
use crate::serve::listeners::{self, Listeners};
use crate::serve::run::{Signals, failure, prepare};
use crate::serve::terms::Terms;
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
    remote::on_sign_in({
        let journal = journal.clone();
        move |url| journal.sign_in(url)
    });
    log::start(options.tool.log_level, options.tool.log);
    let mut signals = Signals::new()?;
    let front = Front::open(&options, token, journal.clone()).await?;
    let PlaygroundOptions { source, tool, .. } = options;
    match source {
        Source::File { path, watch } => {
            let served = format!("{} in the playground", path.display());
            let (bridge, starting) = front.terms.launch(tool.bridge(&path, watch).tap(journal.tap()));
            let server = bridge.server();
            let run = prepare(bridge, starting, signals, served, || {});
            let handle = run.handle();
            let (service, serving) = front.serve(server, Reload::new(move || handle.reload()))?;
            let run = run.on_drain(move || journal.close()).on_stopped(move || service.shut_down());
            run.serve(serving).await.map_err(|error| failure(&error))
        }
        Source::Servers(servers) => {
            gateway::note(&servers);
            gateway::check(&servers)?;
            if servers.watches.is_empty() && servers.entries.iter().any(Entry::is_command) {
                tracing::info!("no file is watched; --watch PATH starts the server again when it changes");
            }
            let remote = front.terms.remote(servers.limits.timeout);
            let gateway = gateway::open_shown(&servers, &remote, journal.messages(), &mut signals).await?;
            let reloaded = gateway.clone();
            let server = gateway::server(&gateway, &servers);
            let (_, serving) = front.serve(server, Reload::new(move || reloaded.reload()))?;
            tracing::info!("serving {} in the playground", servers.names());
            gateway::serve(gateway, serving, signals, move || journal.close()).await.map_err(Failure::failed)
        }
    }
}

/// The sockets and the secret, before there is anything to serve.
struct Front {
    token: Token,
    journal: Journal,
    terms: Terms,
    call_timeout: Duration,
    sockets: Vec<TcpListener>,
    config: ListenerConfig,
    access: Config,
    /// The beginning of all URLs.
    origin: String,
}

impl Front {
    async fn open(options: &PlaygroundOptions, token: Token, journal: Journal) -> Result<Self, Failure> {
        let Listeners { sockets, address, .. } =
            listeners::open("--port", &options.host, options.port, |addresses| options.permit(addresses)).await?;
        let limits = &options.tool.limits;
        let config = ListenerConfig::default().with_drain_timeout(limits.drain_timeout + CLOSE_TIMEOUT);
        // Before the tool process starts, which gets the original limit.
        if let Err(error) = open_files::raise(config.open_files()) {
            tracing::warn!("the limit of open files stays as it is: {error}");
        }
        let origin = format!("http://{}:{}", in_url(&options.host), address.port());
        let access = options.access().require(Credential::token(token.secret()));
        // The bridge says more about a call that is too late.
        let call_timeout = limits.call_timeout.saturating_add(CLOSE_TIMEOUT);
        Ok(Self { token, journal, terms: Terms::new(&options.tool)?, call_timeout, sockets, config, access, origin })
    }

    /// The service, and its listener at work. Prints the URL of the page.
    fn serve<S: Service>(
        self,
        server: Server<S>,
        reload: Reload,
    ) -> Result<(StreamableHttp, impl Future<Output = Result<(), String>>), Failure> {
        let server = self.terms.json(server);
        let calls = Calls::new(server.clone()).with_timeout(self.call_timeout);
        let service = StreamableHttp::new(server, self.access);
        let page = Playground::new(service.clone(), calls, self.journal, reload, host_views::all("protomcp"));
        tracing::info!("listening on {}/mcp", self.origin);
        let url = self.token.url(&self.origin);
        if tracing::enabled!(tracing::Level::INFO) {
            tracing::info!("open {url}");
        } else {
            exit::print(&format!("{url}\n"))?;
        }
        let ended = {
            let service = service.clone();
            async move { service.drained().await }
        };
        let listener = Listener::from_sockets(self.sockets).with_config(self.config);
        let serving = listener.serve(page).with_graceful_shutdown(ended);
        Ok((service, async move { serving.await.map_err(|error| format!("cannot serve: {error}")) }))
    }
}
