//! The table of hosts and their rules, `hosts.json`: one row for each rule, with the source that says so.
//!
//! Hosts change every month. A row says when it was seen last, and how certain it is; the rules read the table and know no
//! host by name.

use std::fmt;
use std::sync::OnceLock;

use protomcp_schema::did_you_mean;
use serde::Deserialize;

use crate::check::Check;

/// A host, or an API of models behind hosts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The name on the command line.
    pub id: String,
    /// The name in a sentence.
    pub label: String,
    /// The APIs to which it passes definitions unchanged, by their ids.
    #[serde(default)]
    pub apis: Vec<String>,
}

/// The effect of a violated rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Every request to the model fails, so that no tool of any server works.
    Request,
    /// All tools of the server are lost.
    Server,
    /// The tool is lost.
    Tool,
    /// The call fails.
    Error,
    /// A part of the text is lost.
    Cut,
    /// The model sees something else than was sent.
    Changed,
    /// It works less well.
    Advice,
}

/// The evidence for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It was recorded with the host itself.
    Recorded,
    /// It is in the source of the host.
    Source,
    /// It is in the documentation of the host.
    Docs,
    /// Users have reported it.
    Thread,
    /// It is in a list made by others.
    Compiled,
    /// It has no public source.
    Unsourced,
}

/// One rule of one host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRule {
    /// The name of the row.
    pub id: String,
    /// The host, by its id.
    pub host: String,
    pub(crate) check: Check,
    /// The effect of violating it.
    pub effect: Effect,
    /// The reaction of the host, in words.
    pub why: String,
    /// The evidence.
    pub certainty: Certainty,
    /// The month in which it was last seen, as `2026-11`.
    pub seen: String,
    /// The place of the evidence: a repository and a number, or a document.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    hosts: Vec<Host>,
    groups: Vec<Group>,
    rules: Vec<HostRule>,
}

/// A name for several hosts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    id: String,
    hosts: Vec<String>,
}

/// The hosts whose rules a check applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostSelection(Vec<String>);

/// A word that names no host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownHost(String);

/// All hosts of the table.
pub fn hosts() -> &'static [Host] {
    &table().hosts
}

/// The words that [`HostSelection::with`] takes: groups of hosts, and hosts.
pub fn host_words() -> impl Iterator<Item = &'static str> {
    let groups = table().groups.iter().map(|group| group.id.as_str());
    groups.chain(hosts().iter().map(|host| host.id.as_str()))
}

/// All rules of the table.
pub fn rules() -> &'static [HostRule] {
    &table().rules
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| serde_json::from_str(include_str!("hosts.json")).expect("the tests read the table"))
}

impl HostRule {
    /// The name of its host in a sentence.
    #[must_use]
    pub fn label(&self) -> &'static str {
        hosts().iter().find(|host| host.id == self.host).map_or("", |host| &host.label)
    }
}

impl HostSelection {
    /// The hosts that are the strictest of all together.
    #[must_use]
    pub fn common() -> Self {
        Self(vec!["common".to_owned()])
    }

    /// Adds the hosts that a word names: a host, a group of hosts, or an API.
    ///
    /// # Errors
    /// If there is no such host.
    pub fn with(mut self, word: &str) -> Result<Self, UnknownHost> {
        let word = word.trim();
        let group = table().groups.iter().find(|group| group.id == word).map(|group| group.hosts.as_slice());
        match group {
            Some(members) => self.0.extend(members.iter().cloned()),
            None if hosts().iter().any(|host| host.id == word) => self.0.push(word.to_owned()),
            None => return Err(UnknownHost(word.to_owned())),
        }
        Ok(self)
    }

    /// The hosts of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// True if no host is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules that apply: the rules of the hosts, of the APIs behind them, and of MCP itself. Without hosts: the
    /// rules of all hosts that cost more than one tool.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &'static HostRule> {
        let apis = |id: &String| hosts().iter().find(|host| host.id == *id).map(|host| host.apis.clone());
        let behind: Vec<String> = self.0.iter().filter_map(apis).flatten().collect();
        let ids = [self.0.as_slice(), &behind].concat();
        rules().iter().filter(move |rule| {
            if ids.is_empty() {
                rule.host != "common" && rule.effect <= Effect::Server
            } else {
                rule.host == "mcp" || ids.contains(&rule.host)
            }
        })
    }
}

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = host_words().collect();
        match did_you_mean(&self.0, ids.iter().copied()) {
            hint if hint.is_empty() => write!(f, "unknown host; use {}", ids.join(", ")),
            hint => write!(f, "unknown host{hint}"),
        }
    }
}

impl std::error::Error for UnknownHost {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_names_a_host_an_evidence_and_a_month() {
        let ids: HashSet<&str> = hosts().iter().map(|host| host.id.as_str()).collect();
        assert_eq!(ids.len(), hosts().len());
        for host in hosts() {
            assert!(host.apis.iter().all(|api| ids.contains(api.as_str())), "{host:?}");
        }
        let mut rows = HashSet::new();
        for rule in rules() {
            assert!(rows.insert(&rule.id), "{} is there twice", rule.id);
            assert!(ids.contains(rule.host.as_str()) && rule.id.starts_with(&rule.host), "{}", rule.id);
            assert!(!rule.source.is_empty() && !rule.why.is_empty() && !rule.label().is_empty(), "{}", rule.id);
            let (year, month) = rule.seen.split_once('-').unwrap();
            assert!(year.parse::<u16>().is_ok() && (1..=12).contains(&month.parse::<u8>().unwrap()), "{}", rule.id);
        }
    }

    #[test]
    fn a_selection_is_made_of_hosts_groups_and_apis() {
        let hosts = |selection: &HostSelection| selection.rules().map(|rule| &rule.host).collect::<HashSet<_>>();
        let claude = HostSelection::default().with("claude").unwrap();
        let found = hosts(&claude);
        for host in ["claude-desktop", "claude-code", "anthropic", "mcp"] {
            assert!(found.contains(&host.to_owned()), "{host}");
        }
        assert_eq!(found.len(), 4);
        assert!(hosts(&HostSelection::default()).len() > 5);
        let unknown = HostSelection::default().with("cursr").unwrap_err();
        assert_eq!(unknown.to_string(), "unknown host; did you mean \"cursor\"?");
        assert!(HostSelection::default().with("emacs").unwrap_err().to_string().contains("use claude, common"));
    }
}
