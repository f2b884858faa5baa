//! The network flags, and the options for HTTP and TCP made from them.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::{Arg, Args};
#[cfg(feature = "proto-mcp")]
use protomcp_bufmcp::Tokens;
use protomcp_http::{Config, Credential, Disallowed, IpNetwork};
use protomcp_server::RequestStateKeys;

use super::exposure::{Exposure, Protection, beyond_this_machine};
use super::oauth::{self, OAuthFlags, OAuthOptions};
use super::sessions::HttpSessionFlags;
use super::store::Store;
#[cfg(feature = "proto-mcp")]
use super::tcp::{self, TcpOptions};
use super::tls::{TlsFiles, TlsFlags};
use super::values::{host_name, size, time};
use crate::exit::Failure;

/// The help heading of these flags.
const HEADING: &str = "Over HTTP and TCP";

/// True for the flags without a meaning on standard input and output.
pub(super) fn is_for_networks(flag: &Arg) -> bool {
    flag.get_help_heading().is_some_and(|heading| [HEADING, oauth::HEADING].contains(&heading))
}

/// The end of the error about a flag that standard input and output make idle.
pub(super) const NEEDS_HTTP: &str = " has no effect on stdio: add --transport http";

/// The older program accepts these with every transport.
const ACCEPTED: [&str; 3] = ["--host", "--port", "--auth"];

#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct Http {
    /// Name or address to listen on
    #[arg(long, value_name = "HOST", default_value = "localhost", value_parser = host)]
    host: String,

    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value = "8080")]
    port: u16,

    /// Required secret: token:ENV_VAR for a Bearer token, apikey:ENV_VAR for X-API-Key; may be repeated: one of the
    /// tokens and one of the keys is enough
    #[arg(long, value_name = "SCHEME:ENV_VAR")]
    auth: Vec<String>,

    /// Disable authentication
    #[arg(long, conflicts_with_all = ["auth", "oauth_issuer"])]
    no_auth: bool,

    /// Additional Host name to accept, such as tools.example.com; may be repeated
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    allow_host: Vec<String>,

    /// Origin of web pages that may use the server, as scheme://name:port; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// Public URL of the server; its host and origin are accepted
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,

    #[command(flatten)]
    tls: TlsFlags,

    /// Allow plaintext on addresses that other machines can reach; also for --metrics-addr
    #[arg(long)]
    insecure_plaintext: bool,

    /// Largest request body, in bytes or with K, M, G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    max_body: u64,

    /// Proxy in front of the server, as an address or a network such as 10.0.0.0/8; limits per client use the address
    /// in its X-Forwarded-For or Forwarded header; may be repeated
    #[arg(long, value_name = "ADDR")]
    trusted_proxy: Vec<IpNetwork>,

    #[command(flatten)]
    sessions: HttpSessionFlags,

    #[command(flatten)]
    observe: ObserveFlags,

    #[command(flatten)]
    oauth: OAuthFlags,
}

/// Probes and metrics.
#[derive(Debug, Args)]
pub(crate) struct ObserveFlags {
    /// Serve /healthz, /readyz and the health check of gRPC without authentication
    #[arg(long)]
    pub(crate) health: bool,

    /// Serve Prometheus metrics at /metrics, with the authentication of the server
    #[arg(long)]
    pub(crate) metrics: bool,

    /// Serve metrics, /healthz and /readyz on this address instead, without authentication
    #[arg(long, value_name = "HOST:PORT", value_parser = place)]
    pub(crate) metrics_addr: Option<Place>,

    /// Time after the signal to stop in which /readyz says 503 and everything is still served, so that balancers look in
    /// between; at most 5m
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = drain_delay)]
    pub(crate) drain_delay: Duration,

    /// Serve the reflection of gRPC, by which clients without the proto file learn the messages
    #[cfg(feature = "proto-mcp")]
    #[arg(long)]
    pub(crate) grpc_reflection: bool,
}

impl ObserveFlags {
    /// Rejects a delay that no balancer can notice.
    fn check(&self) -> Result<(), Failure> {
        if !self.drain_delay.is_zero() && !self.health && self.metrics_addr.is_none() {
            let why = "balancers look at /readyz, which is served with --health or --metrics-addr";
            return Err(Failure::usage(format!("--drain-delay has no effect: {why}")));
        }
        Ok(())
    }
}

/// The protocols on the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocols {
    /// Streamable HTTP, and proto-mcp over gRPC and WebSocket.
    Current,
    /// These, and HTTP+SSE.
    WithHttpSse,
    /// proto-mcp over gRPC.
    #[cfg(feature = "proto-mcp")]
    Grpc,
    /// proto-mcp over WebSocket.
    #[cfg(feature = "proto-mcp")]
    WebSocket,
}

/// The flags of sessions in a store, and of questions: only Streamable HTTP has them.
#[cfg(feature = "proto-mcp")]
const OF_SESSIONS: &[&str] = &["--sealing-key-file", "--store", "--replica-url", "--replica-name"];

impl Protocols {
    /// True if Streamable HTTP is one of them.
    pub(crate) fn has_streamable_http(self) -> bool {
        [Self::Current, Self::WithHttpSse].contains(&self)
    }

    /// Rejects flags that have no effect on these protocols, because the user relies on it.
    #[cfg(feature = "proto-mcp")]
    pub(super) fn check(self, network_flags: &[String]) -> Result<Self, Failure> {
        let (name, idle): (_, &[&str]) = match self {
            Self::Current | Self::WithHttpSse => return Ok(self),
            Self::Grpc => ("grpc", &["--max-sessions", "--session-idle"]),
            Self::WebSocket => ("ws", &["--session-idle", "--grpc-reflection"]),
        };
        let is_idle = |flag: &&String| idle.contains(&flag.as_str()) || OF_SESSIONS.contains(&flag.as_str());
        match network_flags.iter().find(is_idle) {
            Some(flag) => Err(Failure::usage(format!("{flag} has no effect on {name}: it is for --transport http"))),
            None => Ok(self),
        }
    }
}

/// The HTTP options.
#[derive(Debug)]
pub(crate) struct HttpOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) protocols: Protocols,
    pub(crate) config: Config,
    pub(crate) observe: ObserveFlags,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) oauth: Option<OAuthOptions>,
    pub(crate) public_url: Option<String>,
    /// The keys for states of requests that other processes have as well.
    pub(crate) state_keys: Option<RequestStateKeys>,
    /// The sessions that other servers share.
    pub(crate) store: Option<Store>,
    no_auth: bool,
    insecure_plaintext: bool,
}

/// `token:MY_TOKEN`
#[derive(Debug)]
struct Secret<'a> {
    scheme: &'a str,
    credential: fn(&str) -> Credential,
    variable: &'a str,
}

impl Secret<'_> {
    /// The value of its variable. No error shows the name, which may be the secret itself by mistake.
    fn value(&self, env: impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
        let why = match env(self.variable) {
            Some(value) if !value.is_empty() => return Ok(value),
            Some(_) => "is empty",
            None => "is not set",
        };
        Err(Failure::usage(format!(
            "the environment variable named by --auth {}:… {why}; write its name there, not the secret",
            self.scheme
        )))
    }
}

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// A name or an address.
    pub(crate) host: String,
    /// 0 picks a free port.
    pub(crate) port: u16,
}

/// `localhost`, `::1`, or `[::1]` as in URLs.
#[expect(clippy::unnecessary_wraps, reason = "the signature of a value parser")]
pub(super) fn host(text: &str) -> Result<String, Infallible> {
    Ok(without_brackets(text).to_owned())
}

/// The longest time in which a server that is to stop serves everything.
const MAX_DRAIN_DELAY: Duration = Duration::from_secs(300);

fn drain_delay(text: &str) -> Result<Duration, String> {
    let delay = time(text)?;
    if delay > MAX_DRAIN_DELAY { Err("at most 5m".into()) } else { Ok(delay) }
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// `localhost:9090` or `[::1]:9090`
fn place(text: &str) -> Result<Place, String> {
    let place = text.rsplit_once(':').and_then(|(host, port)| {
        let host = without_brackets(host);
        (!host.is_empty()).then_some(Place { host: host.to_owned(), port: port.parse().ok()? })
    });
    place.ok_or_else(|| "expected HOST:PORT, such as localhost:9090".into())
}

impl Http {
    /// Checks the flags. `env` looks up a variable.
    pub(super) fn options(
        self,
        protocols: Protocols,
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<HttpOptions, Failure> {
        let mut config = Config::default().with_rejection_hint(allowing_flag);
        let secrets = self.secrets()?;
        for secret in secrets {
            config = config.require((secret.credential)(&secret.value(&env)?));
        }
        if let Some(url) = &self.public_url {
            let (origin, name) = origin_of(url).ok_or_else(|| {
                Failure::usage(format!(
                    "invalid --public-url \"{url}\": expected a URL such as https://tools.example.com"
                ))
            })?;
            config = config.allow_host(name).allow_origin(origin);
        }
        self.names_one_url()?;
        self.observe.check()?;
        let is_anywhere = self.is_anywhere();
        let oauth = self.oauth.options(&env)?;
        for origin in &self.allow_origin {
            if origin != "*" && origin_of(origin).is_none_or(|(whole, _)| whole != origin.trim_end_matches('/')) {
                let why = "expected an origin such as https://app.example.com";
                return Err(Failure::usage(format!("invalid --allow-origin \"{origin}\": {why}")));
            }
        }
        config.access.allowed_hosts.extend(self.allow_host);
        config.access.allowed_origins.extend(self.allow_origin);
        // A client may address the server by the name it listens on.
        if !is_anywhere {
            config = config.allow_host(in_url(&self.host));
        }
        config.limits.max_body = usize::try_from(self.max_body).unwrap_or(usize::MAX);
        config.limits.max_body_setting = Some("--max-body");
        config.limits.max_sessions = self.sessions.max();
        config.limits.session_idle = self.sessions.session_idle;
        config.access.trusted_proxies = self.trusted_proxy;
        config.legacy_sse = protocols == Protocols::WithHttpSse;
        Ok(HttpOptions {
            host: self.host,
            port: self.port,
            protocols,
            config,
            observe: self.observe,
            tls: self.tls.files()?,
            oauth,
            public_url: self.public_url,
            state_keys: self.sessions.state_keys()?,
            store: self.sessions.store()?,
            no_auth: self.no_auth,
            insecure_plaintext: self.insecure_plaintext,
        })
    }

    /// The options for TCP. `network_flags` are the network flags on the command line; those for HTTP alone are rejected,
    /// because the user relies on their effect.
    #[cfg(feature = "proto-mcp")]
    pub(super) fn tcp(
        self,
        max_line: usize,
        network_flags: &[String],
        env: impl Fn(&str) -> Option<String>,
    ) -> Result<TcpOptions, Failure> {
        if let Some(flag) = network_flags.iter().find(|flag| !tcp::FLAGS.contains(&flag.as_str())) {
            return Err(Failure::usage(format!("{flag} has no effect on tcp: it is for --transport http")));
        }
        let mut tokens = Tokens::new();
        for secret in self.secrets()? {
            if secret.scheme == "apikey" {
                let why = "there are no headers on tcp; use token:ENV_VAR";
                return Err(Failure::usage(format!("--auth apikey:… has no effect: {why}")));
            }
            tokens = tokens.with(secret.variable, &secret.value(&env)?);
        }
        let has_secrets = !self.auth.is_empty();
        self.names_one_url()?;
        let oauth = self.oauth.options(&env)?;
        if self.public_url.is_some() && oauth.is_none() {
            return Err(Failure::usage("--public-url has an effect on tcp with --oauth-issuer only"));
        }
        let tls = self.tls.files()?;
        let certified = tls.as_ref().is_some_and(TlsFiles::authenticates);
        let exposure = Exposure {
            authentication: Protection::of(has_secrets || oauth.is_some() || certified).or_waived(self.no_auth),
            encryption: Protection::of(tls.is_some()).or_waived(self.insecure_plaintext),
        };
        Ok(TcpOptions {
            host: self.host,
            port: self.port,
            tokens: has_secrets.then_some(tokens),
            oauth,
            public_url: self.public_url,
            tls,
            max_connections: self.sessions.max(),
            idle: self.sessions.session_idle,
            max_line,
            exposure,
        })
    }

    /// Rejects network flags on stdio, because the user relies on their effect; returns those that have always been
    /// accepted.
    pub(super) fn idle(&self, network_flags: &[String]) -> Result<Vec<String>, Failure> {
        self.secrets()?;
        match network_flags.iter().find(|flag| !ACCEPTED.contains(&flag.as_str())) {
            Some(flag) => Err(Failure::usage(format!("{flag}{NEEDS_HTTP}"))),
            None => Ok(network_flags.to_vec()),
        }
    }

    /// True if the server listens on all addresses.
    fn is_anywhere(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
    }

    /// Checks that tokens of an issuer have a URL to be valid for.
    fn names_one_url(&self) -> Result<(), Failure> {
        if self.oauth.has_issuer() && self.is_anywhere() && self.public_url.is_none() {
            let why = "a token is valid for one URL, and this server has several";
            return Err(Failure::usage(format!("--oauth-issuer with --host {} needs --public-url: {why}", self.host)));
        }
        Ok(())
    }

    fn secrets(&self) -> Result<Vec<Secret<'_>>, Failure> {
        let read = |spec| match str::split_once(spec, ':') {
            Some((scheme, variable)) if !variable.is_empty() => match scheme {
                "token" => Ok(Secret { scheme, credential: Credential::token, variable }),
                "apikey" => Ok(Secret { scheme, credential: Credential::api_key, variable }),
                _ => Err(Failure::usage("unknown scheme in --auth: must be 'token' or 'apikey'")),
            },
            Some(_) | None => Err(Failure::usage("invalid --auth: expected scheme:ENV_VAR (e.g. token:MY_TOKEN)")),
        };
        self.auth.iter().map(String::as_str).map(read).collect()
    }
}

impl HttpOptions {
    /// Checks the addresses to listen on. Addresses that other machines can reach need authentication and encryption,
    /// or the flags that waive them.
    pub(crate) fn permit(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        let certified = self.tls.as_ref().is_some_and(TlsFiles::authenticates);
        let authenticates = !self.config.access.credentials.is_empty() || self.oauth.is_some() || certified;
        let exposure = Exposure {
            authentication: Protection::of(authenticates).or_waived(self.no_auth),
            encryption: Protection::of(self.tls.is_some()).or_waived(self.insecure_plaintext),
        };
        exposure.permit(addresses, "--auth token:ENV_VAR, --oauth-issuer URL for many users")
    }

    /// Checks the addresses for metrics, which are served without authentication and encryption.
    pub(crate) fn permit_metrics(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        match beyond_this_machine(addresses) {
            Some(refuse) if !self.insecure_plaintext => refuse(
                "--metrics-addr serves unencrypted metrics without authentication; use an address of this machine, such as \
                 localhost:9090, serve them with the tools (--metrics), or add --insecure-plaintext",
            ),
            Some(_) | None => Ok(()),
        }
    }
}

/// The origin of a URL, and the name in it.
fn origin_of(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let name = rest.split(['/', '?', '#']).next()?;
    let is_good = matches!(scheme, "http" | "https") && !name.is_empty() && !name.contains(['@', ' ', '*']);
    is_good.then(|| (&url[..scheme.len() + 3 + name.len()], name))
}

/// A name or an address as URLs and the `Host` of requests have it.
pub(crate) fn in_url(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Names the flag that allows a rejected host or origin.
pub(super) fn allowing_flag(disallowed: Disallowed<'_>) -> String {
    match disallowed {
        Disallowed::Host(host) => format!("--allow-host {host} allows it"),
        Disallowed::Origin(origin) => format!("--allow-origin {origin} allows it"),
        _ => "no flag allows it".to_owned(),
    }
}
