//! The reasons why a store cannot be used.

use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerError};

use crate::url::{Place, StoreUrl};

/// The reason why a store cannot be used, and the remedy. It names the servers of the URL, and neither user nor
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No connection can be made, or it has ended.
    #[error("{url} cannot be reached: {reason}; {remedy}")]
    Unreachable {
        /// The servers.
        url: String,
        /// The reason of the system, or of the server.
        reason: String,
        /// The part of the URL or of the server to look at.
        remedy: &'static str,
    },
    /// The server wants another password.
    #[error("{url} refuses the user or the password: write {form}, with the characters / ? # @ as %2F %3F %23 %40")]
    Refused {
        /// The servers.
        url: String,
        /// The form of a URL with a password.
        form: &'static str,
    },
    /// The server has not answered in time.
    #[error("{url} has not answered within {limit:?}; {remedy}")]
    Silent {
        /// The servers.
        url: String,
        /// The limit.
        limit: Duration,
        /// The part of the URL or of the server to look at.
        remedy: &'static str,
    },
    /// The server answers, and refuses the commands of the store.
    #[error("{url} refuses a command of the store: {reason}")]
    Unusable {
        /// The servers.
        url: String,
        /// The reason of the server.
        reason: String,
    },
}

impl ConnectError {
    /// The reason why a connection has failed.
    pub(crate) fn of(url: &StoreUrl, error: &RedisError, limit: Duration) -> Self {
        if error.kind() == ErrorKind::AuthenticationFailed || error.code().is_some_and(is_about_password) {
            return Self::refused(url);
        }
        if error.is_timeout() {
            return Self::silent(url, limit);
        }
        Self::Unreachable { url: url.to_string(), reason: error.to_string(), remedy: remedy(url) }
    }

    /// The reason why a server has refused a command.
    pub(crate) fn of_answer(url: &StoreUrl, error: &ServerError) -> Self {
        if is_about_password(error.code()) {
            return Self::refused(url);
        }
        let reason = match error.details() {
            Some(details) => format!("{} {details}", error.code()),
            None => error.code().to_owned(),
        };
        Self::Unusable { url: url.to_string(), reason }
    }

    /// A server has not answered within its time.
    pub(crate) fn silent(url: &StoreUrl, limit: Duration) -> Self {
        let remedy = if url.has_tls {
            "see if it runs, and has TLS; a server without TLS has a URL with redis://"
        } else {
            "see if it runs, and if a firewall lets connections through"
        };
        Self::Silent { url: url.to_string(), limit, remedy }
    }

    fn refused(url: &StoreUrl) -> Self {
        let form = match url.place {
            Place::Server(_) | Place::Cluster(_) => "USER:PASSWORD@ or :PASSWORD@ before the host",
            Place::Socket(_) => "?user=USER&pass=PASSWORD or ?pass=PASSWORD",
            Place::Sentinels { .. } => "USER:PASSWORD@ or :PASSWORD@ before the hosts, and ?sentinel_password=PASSWORD",
        };
        Self::Refused { url: url.to_string(), form }
    }
}

fn is_about_password(code: &str) -> bool {
    matches!(code, "NOAUTH" | "WRONGPASS")
}

fn remedy(url: &StoreUrl) -> &'static str {
    match &url.place {
        Place::Socket(_) => "see if the server runs, and if this process may use its socket",
        Place::Sentinels { .. } => "see if the sentinels run, and know a master with this name",
        _ if url.has_tls => {
            "see if it runs, and if its certificate is for this host, and from an authority of this system or of the \
             file in SSL_CERT_FILE; a server without TLS has a URL with redis://"
        }
        Place::Server(_) | Place::Cluster(_) => "see if it runs; a server with TLS has a URL with rediss://",
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    fn error(url: &str, error: &RedisError) -> String {
        ConnectError::of(&url.parse().expect("it is a URL"), error, LIMIT).to_string()
    }

    #[test]
    fn errors_name_the_remedy_and_no_password() {
        let refused = || RedisError::from(io::Error::from(io::ErrorKind::ConnectionRefused));
        for (url, cause, expected) in [
            (
                "redis://:hunter2@a",
                refused(),
                "redis://a:6379/0 cannot be reached: connection refused; see if it runs;",
            ),
            ("rediss://:hunter2@a", refused(), "a server without TLS has a URL with redis://"),
            ("redis+unix:///s?pass=hunter2", refused(), "if this process may use its socket"),
            ("redis+sentinel://:hunter2@a/m", refused(), "know a master with this name"),
            (
                "redis://:hunter2@a",
                RedisError::from(io::Error::from(io::ErrorKind::TimedOut)),
                "redis://a:6379/0 has not answered within 2s",
            ),
            (
                "redis+unix:///s?pass=hunter2",
                RedisError::from((ErrorKind::AuthenticationFailed, "Password authentication failed")),
                "refuses the user or the password: write ?user=USER&pass=PASSWORD",
            ),
        ] {
            let error = error(url, &cause);
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        }
    }
}
