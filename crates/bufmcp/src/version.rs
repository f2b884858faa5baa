//! Versions of the protocol, and the one that a conversation has.

use std::fmt;
use std::str::FromStr;

use crate::code;
use crate::fault::Fault;

/// A version of proto-mcp, such as 1.0.0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// Two versions with other majors do not go together.
    pub major: u64,
    /// The version of the additions.
    pub minor: u64,
    /// The version of the corrections.
    pub patch: u64,
    /// `alpha.1` of `1.0.0-alpha.1`. Such a version goes with itself only.
    pub pre_release: Option<String>,
}

impl Version {
    /// The version that this crate implements.
    pub const V1: Self = Self { major: 1, minor: 0, patch: 0, pre_release: None };

    /// True if only the same version goes with it: before 1.0 and in pre-releases anything may change.
    fn is_unstable(&self) -> bool {
        self.major == 0 || self.pre_release.is_some()
    }

    /// The version of a conversation between a client and a server with these versions, if they go together: the
    /// smaller minor, with the corrections of the server.
    #[must_use]
    pub fn common(client: &Self, server: &Self) -> Option<Self> {
        if client.is_unstable() || server.is_unstable() {
            return (client == server).then(|| server.clone());
        }
        (client.major == server.major).then(|| Self { minor: client.minor.min(server.minor), ..server.clone() })
    }
}

/// The versions of a server: one for each major that it implements, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions(Vec<Version>);

impl Versions {
    /// These versions. Without any it is [`Version::V1`].
    #[must_use]
    pub fn new(versions: impl IntoIterator<Item = Version>) -> Self {
        let mut versions: Vec<_> = versions.into_iter().collect();
        if versions.is_empty() {
            versions.push(Version::V1);
        }
        Self(versions)
    }

    /// The version of a conversation with a client that has asked for this one.
    ///
    /// # Errors
    /// −32602 if the text is not a version, −33002 with the versions of the server if none goes with it.
    pub fn negotiate(&self, requested: &str) -> Result<Version, Fault> {
        let client: Version = requested.parse().map_err(|error: InvalidVersion| {
            Fault::new(code::INVALID_PARAMS, error.to_string()).with("reason", "invalid_version")
        })?;
        self.0.iter().find_map(|server| Version::common(&client, server)).ok_or_else(|| {
            let supported: Vec<_> = self.0.iter().map(ToString::to_string).collect();
            let message = format!("version {client} is not supported; supported: {}", supported.join(", "));
            Fault::new(code::UNSUPPORTED_VERSION, message).with("supported", supported).with("requested", requested)
        })
    }

    /// The newest version.
    #[must_use]
    pub fn newest(&self) -> &Version {
        &self.0[0]
    }

    /// The newest version of this side that goes with one of the peer's, for a client that was refused.
    #[must_use]
    pub fn fallback<'a>(&self, supported: impl IntoIterator<Item = &'a str>) -> Option<Version> {
        let supported: Vec<Version> = supported.into_iter().filter_map(|text| text.parse().ok()).collect();
        let own = self.0.iter().find(|own| supported.iter().any(|theirs| Version::common(own, theirs).is_some()));
        own.cloned()
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::new([])
    }
}

/// The text is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the protocol version must have the form MAJOR.MINOR.PATCH")]
pub struct InvalidVersion;

impl FromStr for Version {
    type Err = InvalidVersion;

    /// Reads a semantic version. Build metadata after `+` has no meaning and is dropped.
    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidVersion);
        }
        let (text, build) = split(text, '+');
        let (numbers, pre_release) = split(text, '-');
        if !build.is_none_or(is_tag) || !pre_release.is_none_or(is_tag) {
            return Err(InvalidVersion);
        }
        let mut parts = numbers.split('.').map(number);
        let mut next = || parts.next().flatten().ok_or(InvalidVersion);
        let (major, minor, patch) = (next()?, next()?, next()?);
        match parts.next() {
            None => Ok(Self { major, minor, patch, pre_release: pre_release.map(str::to_owned) }),
            Some(_) => Err(InvalidVersion),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        self.pre_release.as_ref().map_or(Ok(()), |tag| write!(f, "-{tag}"))
    }
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// A number without superfluous zeros.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

fn is_tag(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    text.split('.').all(is_part)
}

/// The longest text of a version, in bytes.
const MAX_LENGTH: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(texts: &[&str]) -> Versions {
        Versions::new(texts.iter().map(|text| text.parse().unwrap()))
    }

    #[test]
    fn clients_and_servers_agree_as_the_matrix_says() {
        for (client, server, outcome) in [
            ("1.0.0", &["1.0.0"][..], Ok("1.0.0")),
            ("1.0.7", &["1.0.2"], Ok("1.0.2")),
            ("1.0.0", &["1.3.4"], Ok("1.0.4")),
            ("1.3.0", &["1.0.0"], Ok("1.0.0")),
            ("1.0.0", &["2.0.0"], Err(-33002)),
            ("1.4.0", &["2.1.0", "1.2.0"], Ok("1.2.0")),
            ("2.1.0", &["2.0.0", "1.2.0"], Ok("2.0.0")),
            ("2.0.0", &["1.5.0"], Err(-33002)),
            ("1.0.0+build.5", &["1.0.0"], Ok("1.0.0")),
            ("1.0.0-rc.1", &["1.0.0"], Err(-33002)),
            ("1.0.0-rc.1", &["1.0.0-rc.1"], Ok("1.0.0-rc.1")),
            ("1.0.0", &["1.0.0-rc.1"], Err(-33002)),
            ("0.9.0", &["0.9.0"], Ok("0.9.0")),
            ("0.9.1", &["0.9.0"], Err(-33002)),
            ("", &["1.0.0"], Err(-32602)),
            ("abc", &["1.0.0"], Err(-32602)),
            ("1", &["1.0.0"], Err(-32602)),
            ("1.0", &["1.0.0"], Err(-32602)),
            ("1.0.0.0", &["1.0.0"], Err(-32602)),
            ("v1.0.0", &["1.0.0"], Err(-32602)),
            ("1.0.x", &["1.0.0"], Err(-32602)),
            ("01.0.0", &["1.0.0"], Err(-32602)),
            ("+1.0.0", &["1.0.0"], Err(-32602)),
            ("1.0.0-", &["1.0.0"], Err(-32602)),
            ("1.0.18446744073709551616", &["1.0.0"], Err(-32602)),
        ] {
            let agreed = versions(server).negotiate(client);
            let seen = agreed.map(|version| version.to_string()).map_err(|fault| fault.code);
            assert_eq!(seen.as_deref().map_err(|code| *code), outcome, "{client} with {server:?}");
        }
    }

    #[test]
    fn a_refusal_lists_the_versions_of_the_server() {
        let fault = versions(&["2.1.0", "1.2.0"]).negotiate("3.0.0").unwrap_err();
        assert_eq!(fault.data["supported"], serde_json::json!(["2.1.0", "1.2.0"]));
        assert_eq!(fault.data["requested"], "3.0.0");
    }

    #[test]
    fn a_refused_client_takes_the_newest_version_that_goes() {
        for (own, supported, chosen) in [
            (&["2.0.0", "1.4.0"][..], &["1.5.0"][..], Some("1.4.0")),
            (&["2.0.0"], &["1.5.0"], None),
            (&["2.0.0", "1.4.0"], &["nonsense", "1.0.0", "2.2.0"], Some("2.0.0")),
            (&["1.0.0"], &[], None),
        ] {
            let fallback = versions(own).fallback(supported.iter().copied());
            assert_eq!(fallback.map(|version| version.to_string()).as_deref(), chosen);
        }
    }
}
