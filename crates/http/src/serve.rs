//! A whole server on a listener, from the first connection to the end of the last call.

use std::fmt;
use std::future::{Future, IntoFuture, Pending, pending};
use std::io;
use std::pin::{Pin, pin};

use protomcp_listener::Listener;

use crate::routes::Routes;

/// Serves MCP on a listener. Await the result.
///
/// ```no_run
/// use protomcp_http::{Config, Listener, StreamableHttp};
/// # use protomcp_server::{Service, Server};
///
/// # async fn run<S: Service, F>(server: Server<S>, signal: F) -> std::io::Result<()>
/// # where
/// #     F: Future<Output = ()> + Send + 'static,
/// # {
/// let listener = Listener::bind("127.0.0.1:8080").await?;
/// let service = StreamableHttp::new(server, Config::default());
/// protomcp_http::serve(listener, service).with_graceful_shutdown(signal).await
/// # }
/// ```
pub fn serve(listener: Listener, routes: impl Into<Routes>) -> Serve {
    Serve { listener, routes: routes.into(), signal: pending() }
}

/// A server that runs until its end; made by [`serve`].
///
/// The shutdown has three steps. From the signal on, or once the server shuts down for another reason
/// ([`StreamableHttp::shut_down`](crate::StreamableHttp::shut_down)), new requests get 503, while open calls and tasks go
/// on: clients can still answer questions, cancel, and fetch results over new connections. With the last call the sessions
/// end. Then the listener closes.
#[must_use = "a server does nothing unless it is awaited"]
pub struct Serve<F = Pending<()>> {
    listener: Listener,
    routes: Routes,
    signal: F,
}

impl Serve {
    /// Shuts down when `signal` resolves.
    pub fn with_graceful_shutdown<F>(self, signal: F) -> Serve<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Serve { listener: self.listener, routes: self.routes, signal }
    }
}

impl<F> IntoFuture for Serve<F>
where
    F: Future<Output = ()> + Send + 'static,
{
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { listener, routes, signal } = self;
        let service = routes.service().cloned();
        let ended = async move {
            let Some(service) = service else { return signal.await };
            let mut drained = pin!(service.drained());
            tokio::select! {
                () = signal => service.shut_down(),
                () = drained.as_mut() => return,
            }
            drained.await;
        };
        listener.serve(routes).with_graceful_shutdown(ended).into_future()
    }
}

impl<F> fmt::Debug for Serve<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("listener", &self.listener).field("routes", &self.routes).finish_non_exhaustive()
    }
}
