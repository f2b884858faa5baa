//! Any number of hosts over HTTP.

use std::future::IntoFuture;
use std::time::Duration;

use protomcp_bridge::open_files;
use protomcp_http::{Listener, ListenerConfig, Readiness, Routes, StreamableHttp};
use tokio::task::JoinSet;

use crate::args::{Door, Options, TlsFiles};
use crate::exit::Failure;
use crate::log;
use crate::serve::doors::{self, Doors};
use crate::serve::{Signals, Wish, launch, metrics, shut_down};

/// How long connections may take to end after the calls have.
const LEAVE: Duration = Duration::from_secs(5);

/// How long hosts may take to read how their calls ended when they were not waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until a signal ends it.
pub(super) async fn serve(mut options: Options) -> Result<(), Failure> {
    let elsewhere = Door::Stdio { max_line: 0, idle: Vec::new() };
    let Door::Http(mut http) = std::mem::replace(&mut options.door, elsewhere) else {
        unreachable!("this is the way of HTTP")
    };
    log::start(options.log_level);
    let mut signals = Signals::new()?;
    let tls = http.tls.as_ref().map(TlsFiles::read).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let Doors { sockets, address } =
        doors::open("--port", &http.host, http.port, |addresses| http.permit(addresses)).await?;
    let figures = metrics::open(&http).await?;
    let name = if http.host.contains(':') { format!("[{}]", http.host) } else { http.host.clone() };
    let url = format!("{scheme}://{name}:{}/mcp", address.port());
    if let Some(oauth) = http.oauth.take() {
        tracing::info!("asking hosts for a token of {}", oauth.issuer());
        http.config = http.config.protect(oauth.server(http.public_url.as_deref().unwrap_or(&url))?);
    }
    let mut config = ListenerConfig::default();
    // Before the tool process starts, which gets the limit from before.
    if let Err(error) = open_files::raise(config.open_files()) {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
    let (bridge, starting) = launch(&options);
    let service = StreamableHttp::with_tools(bridge.server(), http.config, bridge.tool_definitions());
    config.tls = tls;
    config.drain_timeout = options.drain_timeout + LEAVE;
    let readiness = Readiness::default();
    let page = metrics::page(&bridge, &service);
    let mut routes = Routes::new(service.clone());
    if http.health {
        routes = routes.with_health(readiness.clone());
    }
    if http.metrics {
        routes = routes.with_metrics(page.clone());
    }
    let mut serving = JoinSet::new();
    serving.spawn(protomcp_http::serve(Listener::from_sockets(sockets).with_config(config), routes).into_future());
    if let Some(Doors { sockets, .. }) = figures {
        let routes = Routes::monitoring().with_health(readiness.clone()).with_metrics(page);
        let service = service.clone();
        let ended = async move { service.drained().await };
        let pages = protomcp_http::serve(metrics::listener(sockets), routes).with_graceful_shutdown(ended);
        serving.spawn(pages.into_future());
    }
    tracing::info!("listening on {url}");

    let (mut started, mut ending, mut failed) = (false, false, None);
    {
        // Hosts are served from the start: one may time out sooner than a tool file compiles.
        let starting = starting.wait();
        tokio::pin!(starting);
        loop {
            tokio::select! {
                outcome = serving.join_next() => match outcome {
                    None => break,
                    Some(Ok(Ok(()))) => {}
                    Some(Ok(Err(error))) => drop(failed.get_or_insert(format!("cannot serve: {error}"))),
                    Some(Err(error)) => drop(failed.get_or_insert(format!("the server failed: {error}"))),
                },
                outcome = &mut starting, if !started => {
                    started = true;
                    match outcome {
                        Ok(()) => {
                            readiness.set_ready();
                            tracing::info!("serving {} over HTTP", options.file.display());
                        }
                        Err(error) => {
                            failed = Some(format!("failed to start tool process: {error}"));
                            bridge.drain();
                        }
                    }
                },
                wish = signals.next() => match wish {
                    Wish::Reload => bridge.reload().await,
                    // The second one means it.
                    Wish::End if ending => break,
                    Wish::End => {
                        ending = true;
                        readiness.set_unready();
                        tracing::info!("draining: running calls may finish; once more to end at once");
                        bridge.drain();
                    }
                },
            }
        }
    }
    shut_down(bridge, &mut signals, ending).await;
    // After a second signal the calls that ran have failed with their process, and their answers are under way.
    service.shut_down();
    let left = async { while serving.join_next().await.is_some() {} };
    let _late = tokio::time::timeout(LAST_WORDS, left).await;
    failed.map_or(Ok(()), |why| Err(Failure::failed(why)))
}
