//! One connection to the servers of a store, which carries many calls at the same time.

use std::io;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::{ClusterClientBuilder, TlsMode};
use redis::cluster_async::ClusterConnection;
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisError, RedisResult, Value,
};
use rustls::crypto::CryptoProvider;
use tokio::time::timeout;

use crate::script::{Call, Form};
use crate::url::{Address, Login, Place, StoreUrl};

/// The calls that wait for a connection which sends others.
const QUEUE: usize = 1_024;

/// The shortest pause between probes of a connection: systems count them in seconds.
const SHORTEST_PROBE: Duration = Duration::from_secs(1);

/// The longest one. Linux takes no more than nine hours.
const LONGEST_PROBE: Duration = Duration::from_secs(60);

/// A connection. Its clones are the same one.
#[derive(Clone)]
pub(crate) enum Link {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl Link {
    /// Connects to a store within this time.
    pub(crate) async fn connect(url: &StoreUrl, limit: Duration) -> RedisResult<Self> {
        let connected = timeout(limit, Self::connect_to(url, limit)).await;
        connected.unwrap_or_else(|_| Err(RedisError::from(io::Error::from(io::ErrorKind::TimedOut))))
    }

    async fn connect_to(url: &StoreUrl, limit: Duration) -> RedisResult<Self> {
        if let Place::Cluster(nodes) = &url.place {
            install_tls(url);
            return cluster(url, nodes, limit).await.map(Self::Cluster);
        }
        let config = config(limit).set_pipeline_buffer_size(QUEUE);
        to_server(url, limit, &config, ProtocolVersion::RESP2).await.map(Self::Server)
    }

    /// Sends calls together, and returns the answer to each, which may be an error of the server.
    ///
    /// # Errors
    /// The connection has ended. Each call may have been received.
    pub(crate) async fn send(&mut self, calls: &[Call], form: Form) -> RedisResult<Vec<Value>> {
        let answers = match calls {
            [call] => self.send_one(call, form).await.map(|answer| vec![answer]),
            _ => self.send_all(calls, form).await,
        };
        // A connection to a cluster returns errors of servers like its own.
        answers.or_else(|error| match error.clone().into_server_errors().as_deref() {
            Some([(_, error), ..]) => Ok(vec![Value::ServerError(error.clone()); calls.len()]),
            Some([]) | None => Err(error),
        })
    }

    async fn send_one(&mut self, call: &Call, form: Form) -> RedisResult<Value> {
        let command = call.to_command(form);
        match self {
            Self::Server(connection) => connection.req_packed_command(&command).await,
            Self::Cluster(connection) => connection.req_packed_command(&command).await,
        }
    }

    async fn send_all(&mut self, calls: &[Call], form: Form) -> RedisResult<Vec<Value>> {
        let mut pipeline = redis::Pipeline::with_capacity(calls.len());
        for call in calls {
            pipeline.add_command(call.to_command(form));
        }
        match self {
            Self::Server(connection) => connection.req_packed_commands(&pipeline, 0, calls.len()).await,
            Self::Cluster(connection) => connection.req_packed_commands(&pipeline, 0, calls.len()).await,
        }
    }
}

/// The settings of a connection to one server.
pub(crate) fn config(limit: Duration) -> AsyncConnectionConfig {
    // The time of an answer is limited where the answer is needed.
    AsyncConnectionConfig::new().set_connection_timeout(Some(limit)).set_response_timeout(None)
}

/// Connects to a server; of a cluster, to the first node.
pub(crate) async fn to_server(
    url: &StoreUrl,
    limit: Duration,
    config: &AsyncConnectionConfig,
    protocol: ProtocolVersion,
) -> RedisResult<MultiplexedConnection> {
    install_tls(url);
    let address = match &url.place {
        Place::Server(address) => address.to_redis(url.has_tls),
        Place::Socket(path) => ConnectionAddr::Unix(path.clone()),
        Place::Sentinels { sentinels, master, login } => {
            let builder = sentinel_client(url, sentinels, master, login, limit)?;
            let mut client = builder.set_client_to_redis_protocol(protocol).build()?;
            return client.get_async_connection_with_config(config).await;
        }
        Place::Cluster(nodes) => {
            let none = || RedisError::from(io::Error::from(io::ErrorKind::NotFound));
            nodes.first().ok_or_else(none)?.to_redis(url.has_tls)
        }
    };
    let client = Client::open(info(address, url, limit, protocol)?)?;
    client.get_multiplexed_async_connection_with_config(config).await
}

fn install_tls(url: &StoreUrl) {
    if url.has_tls && CryptoProvider::get_default().is_none() {
        // The client crate takes the one of the process. Another thread may be first.
        let _installed = rustls::crypto::ring::default_provider().install_default();
    }
}

impl Address {
    fn to_redis(&self, has_tls: bool) -> ConnectionAddr {
        let (host, port) = (self.host.clone(), self.port);
        if has_tls {
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host, port)
        }
    }
}

fn info(
    address: ConnectionAddr,
    url: &StoreUrl,
    limit: Duration,
    protocol: ProtocolVersion,
) -> RedisResult<ConnectionInfo> {
    let mut settings = RedisConnectionInfo::default().set_db(url.database.into()).set_protocol(protocol);
    if let Some(user) = &url.login.user {
        settings = settings.set_username(user);
    }
    if let Some(password) = &url.login.password {
        settings = settings.set_password(password);
    }
    Ok(address.into_connection_info()?.set_redis_settings(settings).set_tcp_settings(tcp(limit)))
}

/// Calls are sent without a delay. A connection ends that leads nowhere, whether or not calls are sent on it: the
/// system probes it after a pause, and waits for each of its bytes to arrive no longer than a request takes.
fn tcp(limit: Duration) -> TcpSettings {
    let limit = limit.clamp(SHORTEST_PROBE, LONGEST_PROBE);
    let probes = TcpKeepalive::new().with_time(limit).with_interval(limit);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(probes);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(limit);
    settings
}

fn sentinel_client(
    url: &StoreUrl,
    sentinels: &[Address],
    master: &str,
    login: &Login,
    limit: Duration,
) -> RedisResult<SentinelClientBuilder> {
    let sentinels = sentinels.iter().map(|sentinel| sentinel.to_redis(url.has_tls));
    let mut builder = SentinelClientBuilder::new(sentinels, master, SentinelServerType::Master)?
        .set_client_to_redis_db(url.database.into())
        .set_client_to_redis_tcp_settings(tcp(limit));
    if url.has_tls {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if let Some(user) = &url.login.user {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = &url.login.password {
        builder = builder.set_client_to_redis_password(password);
    }
    if let Some(user) = &login.user {
        builder = builder.set_client_to_sentinel_username(user);
    }
    if let Some(password) = &login.password {
        builder = builder.set_client_to_sentinel_password(password);
    }
    Ok(builder)
}

async fn cluster(url: &StoreUrl, nodes: &[Address], limit: Duration) -> RedisResult<ClusterConnection> {
    let info = |node: &Address| info(node.to_redis(url.has_tls), url, limit, ProtocolVersion::RESP2);
    let nodes: RedisResult<Vec<_>> = nodes.iter().map(info).collect();
    let client = ClusterClientBuilder::new(nodes?)
        .connection_timeout(limit)
        .response_timeout(limit)
        .tcp_settings(tcp(limit))
        .build()?;
    client.get_async_connection().await
}
