//! The HTTP requests of one connection.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use http::{Request, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::time::{Duration, Instant};

use crate::activity::{Activity, Usage};
use crate::config::ListenerConfig;
use crate::connection::{Accepted, Io, Protocol};
use crate::repolled::Repolled;
use crate::service::HttpService;
use crate::stall::Stall;
use crate::upgrade::Leases;

/// The most bytes of a request head. Over HTTP/1.1 hyper takes up to 100 headers: taking more costs memory for every
/// request, and clients send a dozen.
const MAX_HEADERS: usize = 64 * 1024;

/// The most bytes of one HTTP/2 request that a client may send before they are read.
const STREAM_WINDOW: u32 = 256 * 1024;

/// The most bytes of all requests of an HTTP/2 connection that a client may send before they are read. A request that
/// waits leaves as many to the others.
const CONNECTION_WINDOW: u32 = 2 * STREAM_WINDOW;

/// The interval of HTTP/2 pings to the client.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// HTTP/1.1 and HTTP/2.
#[derive(Debug, Clone)]
pub(crate) struct Http<S>(pub(crate) S);

impl<S: HttpService> Protocol for Http<S> {
    const REPLY_TO_PLAIN_TEXT: &'static [u8] =
        b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
        this is plain HTTP, and the server speaks HTTPS here\n";

    async fn serve(self, accepted: Accepted<'_>, io: impl Io, deadline: Instant) {
        let Accepted { connections, info, client, usage, stall } = accepted;
        let service = self.0;
        let builder = builder(&connections.config);
        let activity = Arc::new(Activity::new(usage));
        let used = Arc::clone(&activity);
        let leases = Leases::new();
        let lessor = leases.lessor();
        let respond = move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(info);
            if let Some(client) = &client {
                request.extensions_mut().insert(client.clone());
            }
            lessor.equip(&mut request, &used);
            let open = used.open(request.version());
            let (mut service, stall) = (service.clone(), stall.clone());
            async move {
                wait_for_client(request.version(), &stall).await;
                poll_fn(|cx| service.poll_ready(cx)).await?;
                service.respond(request).await.map(|response| response.map(|body| open.track(body)))
            }
        };
        let connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(io), service_fn(respond)));
        let mut connection = Repolled::new(connection);
        let mut check = pin!(tokio::time::sleep_until(deadline));
        let (mut is_stopping, mut is_leaving) = (false, false);
        let idle_timeout = connections.config.idle_timeout;
        let outcome = loop {
            tokio::select! {
                outcome = &mut connection => break outcome,
                () = connections.abort.cancelled() => return,
                () = connections.stop.cancelled(), if !is_stopping => {
                    connection.future.as_mut().graceful_shutdown();
                    is_stopping = true;
                }
                () = check.as_mut() => {
                    let now = Instant::now();
                    let next = match activity.usage() {
                        Usage::Silent => return,
                        Usage::Busy => now + idle_timeout,
                        Usage::Idle(since) if since + idle_timeout > now => since + idle_timeout,
                        // The client ignores the announced shutdown.
                        Usage::Idle(_) if is_leaving => return,
                        Usage::Idle(_) => {
                            connection.future.as_mut().graceful_shutdown();
                            is_leaving = true;
                            now + idle_timeout
                        }
                    };
                    check.as_mut().reset(next);
                }
            }
        };
        if let Err(error) = outcome {
            tracing::debug!("connection failed: {error}");
        }
        // Another protocol may use the connection from here on.
        tokio::select! {
            () = leases.returned() => {}
            () = connections.abort.cancelled() => {}
        }
    }
}

/// Waits while bytes wait for a client of HTTP/1: hyper keeps any number of responses without a body for one that sends
/// requests and does not read. Over HTTP/2 a stream is open until its response is written.
async fn wait_for_client(version: Version, stall: &Stall) {
    if version < Version::HTTP_2 {
        stall.over().await;
    }
}

fn builder(config: &ListenerConfig) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new()).header_read_timeout(config.idle_timeout).max_buf_size(MAX_HEADERS);
    let mut http2 = builder.http2();
    http2
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(MAX_HEADERS).unwrap_or(u32::MAX))
        .max_concurrent_streams(config.max_concurrent_requests)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(PING_INTERVAL)
        .enable_connect_protocol();
    builder
}
