//! Signing in with the browser of this machine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use crate::authorizer::{AuthorizationError, BoxFuture};
use crate::driver::browser::{Browser, SystemBrowser};
use crate::driver::redirect_listener::RedirectListener;
use crate::driver::user_agent::{PendingRedirect, UserAgent};

/// The default time for a user to sign in.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The news that a user is expected to sign in.
#[derive(Debug, Clone)]
pub struct SignInNotice {
    /// The URL that was opened, or that the user has to open.
    pub url: String,
    /// The port of this machine on which the redirect is expected.
    pub port: u16,
    /// The reason for which no browser was opened; none if one was.
    pub failure: Option<String>,
}

impl fmt::Display for SignInNotice {
    /// A text for the user, of some lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, port, failure } = self;
        let Some(failure) = failure else {
            return write!(f, "sign in with the browser that was opened, or open this URL:\n  {url}");
        };
        write!(
            f,
            "no browser could be opened ({failure}); open this URL to sign in:\n  {url}\nwith a browser on another \
             machine, forward its port first:\n  ssh -L {port}:127.0.0.1:{port} THIS-MACHINE"
        )
    }
}

/// Signs in with the browser of this machine, which returns to a [`RedirectListener`].
#[derive(Clone)]
pub struct LoopbackUserAgent {
    browser: Arc<dyn Browser>,
    notify: Arc<dyn Fn(&SignInNotice) + Send + Sync>,
    timeout: Duration,
    fixed_port: Option<u16>,
    /// The last port. It is used again if it is free, so that the client need not be registered again.
    last_port: Arc<AtomicU16>,
}

impl Default for LoopbackUserAgent {
    fn default() -> Self {
        Self {
            browser: Arc::new(SystemBrowser),
            notify: Arc::new(log),
            timeout: TIMEOUT,
            fixed_port: None,
            last_port: Arc::new(AtomicU16::new(0)),
        }
    }
}

impl fmt::Debug for LoopbackUserAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackUserAgent").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl LoopbackUserAgent {
    /// Uses another browser.
    #[must_use]
    pub fn browser(mut self, browser: impl Browser) -> Self {
        self.browser = Arc::new(browser);
        self
    }

    /// Calls this function when a user is expected to sign in, also if no browser could be opened. By default the notice
    /// is logged.
    #[must_use]
    pub fn on_notice(mut self, notify: impl Fn(&SignInNotice) + Send + Sync + 'static) -> Self {
        self.notify = Arc::new(notify);
        self
    }

    /// The time for a user to sign in. Default five minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The port of the redirect URI, for a client that was registered with one. Default: any free port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.fixed_port = Some(port);
        self
    }
}

fn log(notice: &SignInNotice) {
    if notice.failure.is_some() {
        tracing::warn!("{notice}");
    } else {
        tracing::info!("{notice}");
    }
}

impl UserAgent for LoopbackUserAgent {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingRedirect>, AuthorizationError>> {
        Box::pin(async move {
            let port = self.fixed_port.unwrap_or_else(|| self.last_port.load(Ordering::Relaxed));
            let listener = match RedirectListener::bind(port).await {
                Err(_) if self.fixed_port.is_none() => RedirectListener::bind(0).await,
                listener => listener,
            };
            let listener = listener
                .map_err(|error| AuthorizationError::SignInRequired(format!("no redirect can be received: {error}")))?;
            self.last_port.store(listener.port(), Ordering::Relaxed);
            let pending: Box<dyn PendingRedirect> = Box::new(Pending { listener, agent: self.clone() });
            Ok(pending)
        })
    }
}

struct Pending {
    listener: RedirectListener,
    agent: LoopbackUserAgent,
}

impl PendingRedirect for Pending {
    fn redirect_uri(&self) -> &str {
        self.listener.redirect_uri()
    }

    fn complete(self: Box<Self>, url: String, state: String) -> BoxFuture<'static, Result<String, AuthorizationError>> {
        let Self { listener, agent } = *self;
        Box::pin(async move {
            let (limit, port) = (agent.timeout, listener.port());
            tokio::spawn(async move {
                let (browser, opened) = (Arc::clone(&agent.browser), url.clone());
                let failure = match tokio::task::spawn_blocking(move || browser.open(&opened)).await {
                    Ok(Ok(())) => None,
                    Ok(Err(error)) => Some(error.to_string()),
                    Err(error) => Some(error.to_string()),
                };
                (agent.notify)(&SignInNotice { url, port, failure });
            });
            timeout(limit, listener.receive(&state)).await.map_err(|_| {
                AuthorizationError::SignInRequired(format!("no redirect has arrived within {} s", limit.as_secs()))
            })
        })
    }
}
