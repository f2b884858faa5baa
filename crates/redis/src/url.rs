//! The URL of a store.
//!
//! | URL | server |
//! |---|---|
//! | `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]` | one server |
//! | `redis+unix:///PATH[?db=DATABASE&user=USER&pass=PASSWORD]` | one server of this machine |
//! | `redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT][,…]/MASTER[/DATABASE]` | the master that sentinels name |
//! | `redis+cluster://[[USER]:PASSWORD@]HOST[:PORT][,…]` | a cluster, through any of its nodes |
//!
//! `rediss` in place of `redis` is TLS, and `valkey` in place of `redis` is the same.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

/// The prefix of all keys without `?prefix=`.
const PREFIX: &str = "pmcp:";

/// The most bytes of a prefix.
const MAX_PREFIX: usize = 64;

/// The port of a server.
const PORT: u16 = 6379;

/// The port of a sentinel.
const SENTINEL_PORT: u16 = 26379;

/// The URL of a Redis or Valkey. Neither [`fmt::Debug`] nor [`fmt::Display`] writes its users, passwords and
/// parameters.
///
/// ```
/// let url: protomcp_redis::StoreUrl = "rediss://app:secret@cache.example:6380/2?prefix=tools:".parse()?;
/// assert_eq!(url.to_string(), "rediss://cache.example:6380/2");
/// # Ok::<(), protomcp_redis::StoreUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    pub(crate) place: Place,
    pub(crate) has_tls: bool,
    pub(crate) login: Login,
    pub(crate) database: u16,
    pub(crate) prefix: String,
}

/// The servers of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Server(Address),
    Socket(PathBuf),
    Sentinels { sentinels: Vec<Address>, master: String, login: Login },
    Cluster(Vec<Address>),
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The user and the password at a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// The reason why a text is not the URL of a store, and the form that is. It shows nothing of the text, which may have
/// a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreUrlError(&'static str);

const SCHEME: &str = "the URL of a store begins with redis://, rediss:// for TLS, redis+unix://, redis+sentinel:// or \
                      redis+cluster://, or the same with valkey";
const NO_HOST: &str = "the URL of a store names no host: write redis://HOST:PORT/DATABASE";
const HOST: &str = "a host in the URL of a store is not one, or its port is not a number up to 65535: write HOST:PORT, \
                    an IPv6 address as [ADDRESS]:PORT, and the characters / ? # @ of a password as %2F %3F %23 %40";
const HOSTS: &str = "the URL of one server names several hosts: write redis+cluster://HOST,HOST for a cluster, or \
                     redis+sentinel://HOST,HOST/MASTER for sentinels";
const USER: &str = "the URL of a store has a user without a password: write redis://USER:PASSWORD@HOST, or \
                    redis://:PASSWORD@HOST for a password alone";
const ENCODING: &str =
    "the URL of a store has a % that is not followed by two hexadecimal digits of UTF-8 text: write %25";
const DATABASE: &str = "the database in the URL of a store is not a number up to 65535: write redis://HOST:PORT/0";
const CLUSTER_DATABASE: &str = "a cluster has only database 0: write redis+cluster://HOST:PORT,HOST:PORT";
const MASTER: &str = "the URL of sentinels names no master: write redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DATABASE";
const SOCKET: &str =
    "the path of a socket is not absolute: write redis+unix:///PATH, and ?db=, ?user= and ?pass= after it";
const SOCKET_TLS: &str = "a socket of this machine has no TLS: write redis+unix:///PATH";
const PARAMETER: &str = "the URL of a store has a parameter that is not known, or is there twice: it may have prefix, \
                         with sentinels sentinel_username and sentinel_password, and with redis+unix db, user and pass";
const BAD_PREFIX: &str = "the prefix of a store has 1 to 64 characters of A-Z, a-z, 0-9 and : . _ -";
const FRAGMENT: &str = "the URL of a store has a part after #, which has no meaning: certificates are always checked";

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(StoreUrlError(SCHEME))?;
        let (has_tls, kind) = kind(scheme).ok_or(StoreUrlError(SCHEME))?;
        if rest.contains('#') {
            return Err(StoreUrlError(FRAGMENT));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let query = Query::parse(query)?;
        let prefix = prefix(&query)?;
        if kind == Kind::Socket {
            return socket(rest, has_tls, query, prefix);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Login::parse(login)?, hosts),
            None => (Login::default(), authority),
        };
        let addresses = addresses(hosts, if kind == Kind::Sentinels { SENTINEL_PORT } else { PORT })?;
        let (place, database) = match kind {
            Kind::Server => (one(addresses)?, database(path)?),
            Kind::Cluster if path.is_empty() || path == "0" => (Place::Cluster(addresses), 0),
            Kind::Cluster => return Err(StoreUrlError(CLUSTER_DATABASE)),
            Kind::Sentinels | Kind::Socket => {
                let (master, path) = path.split_once('/').unwrap_or((path, ""));
                let master = Some(decoded(master)?).filter(|master| !master.is_empty());
                let master = master.ok_or(StoreUrlError(MASTER))?;
                let login = Login { user: query.sentinel_username, password: query.sentinel_password };
                (Place::Sentinels { sentinels: addresses, master, login }, database(path)?)
            }
        };
        let is_sentinel = kind == Kind::Sentinels;
        if query.db.is_some()
            || query.user.is_some()
            || query.pass.is_some()
            || (query.is_for_sentinels && !is_sentinel)
        {
            return Err(StoreUrlError(PARAMETER));
        }
        Ok(Self { place, has_tls, login, database, prefix })
    }
}

impl StoreUrl {
    /// The next node of a cluster is the first one from now on.
    pub(crate) fn rotate_nodes(&mut self) {
        if let Place::Cluster(nodes) = &mut self.place {
            let by = nodes.len().min(1);
            nodes.rotate_left(by);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Server,
    Socket,
    Sentinels,
    Cluster,
}

/// True for TLS, and the kind of the servers.
fn kind(scheme: &str) -> Option<(bool, Kind)> {
    let scheme = scheme.to_ascii_lowercase();
    let (base, kind) = match scheme.split_once('+') {
        None if scheme == "unix" => return Some((false, Kind::Socket)),
        None => (scheme.as_str(), Kind::Server),
        Some((base, "unix")) => (base, Kind::Socket),
        Some((base, "sentinel")) => (base, Kind::Sentinels),
        Some((base, "cluster")) => (base, Kind::Cluster),
        Some(_) => return None,
    };
    match base {
        "redis" | "valkey" => Some((false, kind)),
        "rediss" | "valkeys" => Some((true, kind)),
        _ => None,
    }
}

/// The parameters of a URL.
#[derive(Default)]
struct Query {
    prefix: Option<String>,
    db: Option<String>,
    user: Option<String>,
    pass: Option<String>,
    sentinel_username: Option<String>,
    sentinel_password: Option<String>,
    is_for_sentinels: bool,
}

impl Query {
    fn parse(text: &str) -> Result<Self, StoreUrlError> {
        let mut query = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let parameter = match name {
                "prefix" => &mut query.prefix,
                "db" => &mut query.db,
                "user" => &mut query.user,
                "pass" => &mut query.pass,
                "sentinel_username" => &mut query.sentinel_username,
                "sentinel_password" => &mut query.sentinel_password,
                _ => return Err(StoreUrlError(PARAMETER)),
            };
            if parameter.replace(decoded(value)?).is_some() {
                return Err(StoreUrlError(PARAMETER));
            }
        }
        query.is_for_sentinels = query.sentinel_username.is_some() || query.sentinel_password.is_some();
        Ok(query)
    }
}

impl Login {
    fn parse(text: &str) -> Result<Self, StoreUrlError> {
        let (user, password) = text.split_once(':').ok_or(StoreUrlError(USER))?;
        let (user, password) = (decoded(user)?, decoded(password)?);
        if password.is_empty() && !user.is_empty() {
            return Err(StoreUrlError(USER));
        }
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Self { user: given(user), password: given(password) })
    }
}

/// Keeps passwords out of logs.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

/// The servers and the database, without users, passwords and parameters.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.has_tls { "rediss" } else { "redis" };
        let database = self.database;
        match &self.place {
            Place::Server(address) => write!(f, "{scheme}://{address}/{database}"),
            Place::Socket(path) => write!(f, "redis+unix://{}?db={database}", path.display()),
            Place::Sentinels { sentinels, master, .. } => {
                write!(f, "{scheme}+sentinel://{}/{master}/{database}", listed(sentinels))
            }
            Place::Cluster(nodes) => write!(f, "{scheme}+cluster://{}", listed(nodes)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

fn listed(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn socket(path: &str, has_tls: bool, query: Query, prefix: String) -> Result<StoreUrl, StoreUrlError> {
    if has_tls {
        return Err(StoreUrlError(SOCKET_TLS));
    }
    if !path.starts_with('/') || path.len() < 2 {
        return Err(StoreUrlError(SOCKET));
    }
    if query.is_for_sentinels {
        return Err(StoreUrlError(PARAMETER));
    }
    if query.user.is_some() && query.pass.is_none() {
        return Err(StoreUrlError(USER));
    }
    Ok(StoreUrl {
        place: Place::Socket(PathBuf::from(decoded(path)?)),
        has_tls: false,
        login: Login { user: query.user, password: query.pass },
        database: database(query.db.as_deref().unwrap_or_default())?,
        prefix,
    })
}

fn prefix(query: &Query) -> Result<String, StoreUrlError> {
    let prefix = query.prefix.clone().unwrap_or_else(|| PREFIX.to_owned());
    // No brace: the braces of a key mark the part that chooses the slot of a cluster.
    let is_plain = prefix.chars().all(|c| c.is_ascii_alphanumeric() || ":._-".contains(c));
    if is_plain && (1..=MAX_PREFIX).contains(&prefix.len()) { Ok(prefix) } else { Err(StoreUrlError(BAD_PREFIX)) }
}

fn database(path: &str) -> Result<u16, StoreUrlError> {
    match path {
        "" => Ok(0),
        number => number.parse().map_err(|_| StoreUrlError(DATABASE)),
    }
}

fn one(addresses: Vec<Address>) -> Result<Place, StoreUrlError> {
    match <[Address; 1]>::try_from(addresses) {
        Ok([address]) => Ok(Place::Server(address)),
        Err(_) => Err(StoreUrlError(HOSTS)),
    }
}

fn addresses(hosts: &str, port: u16) -> Result<Vec<Address>, StoreUrlError> {
    if hosts.is_empty() {
        return Err(StoreUrlError(NO_HOST));
    }
    hosts.split(',').map(|host| address(host, port).ok_or(StoreUrlError(HOST))).collect()
}

fn address(text: &str, default: u16) -> Option<Address> {
    let (host, port) = match text.strip_prefix('[') {
        Some(text) => {
            let (host, rest) = text.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            (host, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:".contains(c));
    let port = port.map_or(Some(default), |port| port.parse().ok().filter(|port| *port > 0))?;
    (is_plain && !host.is_empty()).then(|| Address { host: host.to_owned(), port })
}

/// The text without percent-encoding (RFC 3986, 2.1).
fn decoded(text: &str) -> Result<String, StoreUrlError> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    let is_encoded = text.match_indices('%').all(|(at, _)| is_digit(at + 1) && is_digit(at + 2));
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| StoreUrlError(ENCODING))?;
    if is_encoded { Ok(decoded.into_owned()) } else { Err(StoreUrlError(ENCODING)) }
}

#[cfg(test)]
mod tests;
