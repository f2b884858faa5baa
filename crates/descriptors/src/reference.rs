//! References to messages of a schema registry.
//!
//! The form is `host/owner/module/package.Message:version`. The text is split at its first three slashes and then at
//! the first colon, because labels may contain slashes. Nothing is decoded or completed: a part that a registry could
//! not have issued is an error, so that no part can change the path of a request.

use std::fmt;
use std::str::FromStr;

/// The longest name of an owner, in bytes (the contract of the registry).
pub const MAX_OWNER: usize = 32;

/// The longest name of a module, in bytes (the contract of the registry).
pub const MAX_MODULE: usize = 100;

/// The longest label, in characters (the contract of the registry).
pub const MAX_LABEL: usize = 250;

/// The longest full name of a message, in bytes.
pub const MAX_FULL_NAME: usize = 512;

/// The longest name of a host, in bytes (RFC 1035, section 2.3.4).
const MAX_HOST: usize = 253;

/// A message of a module, and the version of the module.
///
/// `Display` writes the canonical form, which parses to an equal value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaRef {
    module: Module,
    message: FullName,
    version: Option<Version>,
}

/// A module of a registry: `host/owner/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Module {
    host: Host,
    owner: String,
    name: String,
}

/// The DNS name of a registry, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(String);

/// The full name of a message, without a leading dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FullName(String);

/// A label or a commit of a module. The registry tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(String);

/// The names of messages that a reference may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Messages of a package.
    #[default]
    Strict,
    /// Messages without a package, too.
    Lenient,
}

/// The reason for which a text is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// A part is missing.
    #[error("a schema reference has the form host/owner/module/package.Message:version")]
    Parts,
    /// The host is not a DNS name with a dot.
    #[error("{0:?} is not the DNS name of a registry")]
    Host(String),
    /// The owner is empty, too long, or contains other characters than `a-z`, `0-9` and `-`.
    #[error("{0:?} is not the name of an owner")]
    Owner(String),
    /// The module is too short, too long, or contains other characters than `a-z`, `0-9`, `-`, `_` and `.`.
    #[error("{0:?} is not the name of a module")]
    Module(String),
    /// The message is not made of identifiers separated by dots.
    #[error("{0:?} is not the full name of a message")]
    FullName(String),
    /// The message has no package, and [`Strictness::Strict`] is asked for.
    #[error("{0:?} has no package; a reference names package.Message")]
    NoPackage(String),
    /// The version is empty, too long, or contains a character that no label has.
    #[error("{0:?} is not a version")]
    Version(String),
}

impl SchemaRef {
    /// The reference to `message` in a version of `module`. Without a version it means the default label.
    #[must_use]
    pub fn new(module: Module, message: FullName, version: Option<Version>) -> Self {
        Self { module, message, version }
    }

    /// Parses a reference.
    ///
    /// # Errors
    ///
    /// Fails if a part is missing or malformed.
    pub fn parse(text: &str, strictness: Strictness) -> Result<Self, ReferenceError> {
        let mut parts = text.splitn(4, '/');
        let mut next = || parts.next().ok_or(ReferenceError::Parts);
        let (host, owner, module, rest) = (next()?, next()?, next()?, next()?);
        let module = Module::new(host.parse()?, owner, module)?;
        let (message, version) = match rest.split_once(':') {
            Some((message, version)) => (message, Some(version.parse()?)),
            None => (rest, None),
        };
        let message: FullName = message.parse()?;
        if strictness == Strictness::Strict && message.package().is_empty() {
            return Err(ReferenceError::NoPackage(shortened(message.as_str())));
        }
        Ok(Self { module, message, version })
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &FullName {
        &self.message
    }

    /// The version. `None` means the default label of the module.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }
}

impl Module {
    /// The module `name` of `owner`.
    ///
    /// # Errors
    ///
    /// Fails if a name is outside the contract of the registry.
    pub fn new(host: Host, owner: &str, name: &str) -> Result<Self, ReferenceError> {
        let is_owner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if owner.is_empty() || owner.len() > MAX_OWNER || !owner.chars().all(is_owner) {
            return Err(ReferenceError::Owner(shortened(owner)));
        }
        let is_name = |c: char| is_owner(c) || c == '_' || c == '.';
        let fits = (2..=MAX_MODULE).contains(&name.len());
        if !fits || !name.chars().all(is_name) || name.contains("..") {
            return Err(ReferenceError::Module(shortened(name)));
        }
        Ok(Self { host, owner: owner.to_owned(), name: name.to_owned() })
    }

    /// The registry.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The owner.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name below the owner.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Host {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FullName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the last dot; empty without one.
    #[must_use]
    pub fn package(&self) -> &str {
        self.0.rsplit_once('.').map_or("", |(package, _)| package)
    }
}

impl Version {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for 32 lower-case hexadecimal digits: a commit, whose schema never changes.
    #[must_use]
    pub fn is_commit(&self) -> bool {
        self.0.len() == 32 && self.0.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    }
}

impl FromStr for SchemaRef {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Self::parse(text, Strictness::Strict)
    }
}

impl FromStr for Module {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let (host, path) = text.split_once('/').ok_or(ReferenceError::Parts)?;
        let (owner, name) = path.split_once('/').ok_or(ReferenceError::Parts)?;
        Self::new(host.parse()?, owner, name)
    }
}

impl FromStr for Host {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let is_label = |label: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let hyphen_outside = label.starts_with('-') || label.ends_with('-');
            (1..=63).contains(&label.len()) && label.bytes().all(is_inner) && !hyphen_outside
        };
        // An address is not a name: its last label would be a number (RFC 1123, section 2.1).
        let (rest, last) = text.rsplit_once('.').unwrap_or_default();
        let is_name = !rest.is_empty() && last.bytes().any(|byte| byte.is_ascii_alphabetic());
        if text.len() > MAX_HOST || !is_name || !text.split('.').all(is_label) {
            return Err(ReferenceError::Host(shortened(text)));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl FromStr for FullName {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let is_identifier = |part: &str| {
            let starts = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            starts && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if text.len() > MAX_FULL_NAME || !text.split('.').all(is_identifier) {
            return Err(ReferenceError::FullName(shortened(text)));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for Version {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let is_foreign = |c: char| c.is_whitespace() || c.is_control() || ":@?#\\".contains(c);
        let fits = (1..=MAX_LABEL).contains(&text.chars().count());
        let has_gap = text.split('/').any(str::is_empty);
        if !fits || text.contains(is_foreign) || text.contains("..") || has_gap {
            return Err(ReferenceError::Version(shortened(text)));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for SchemaRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.module, self.message)?;
        self.version.iter().try_for_each(|version| write!(f, ":{version}"))
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.owner, self.name)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for FullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of a peer, cut to a length that a message can quote.
fn shortened(text: &str) -> String {
    const QUOTED: usize = 100;
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    quoted
}
