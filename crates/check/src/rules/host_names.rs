//! The names of tools for hosts, each for one tool for as long as the program runs.

use std::collections::HashMap;

use super::names::{length, safe};
use crate::check::Check;
use crate::hosts::HostRule;

/// The longest name that is made.
const LONGEST: usize = 40;
/// The shortest length to which names are cut, whatever the server's name leaves.
const SHORTEST: usize = 16;
/// The most names that are kept. A server may change its list as often as it likes.
const MAX_NAMES: usize = 10_000;
/// The digits that tell cut names from each other, and the `_` before them.
const MARK: usize = 7;

/// The names that tools have for hosts.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_host: HashMap<String, String>,
    by_own: HashMap<String, String>,
}

impl Names {
    /// The names of these tools for hosts with these rules, which know the server by its name; `None` for each that stays.
    pub(crate) fn of_tools(&mut self, own: &[&str], rules: &[&HostRule], server: &str) -> Vec<Option<String>> {
        let is_fine = |name: &str| rules.iter().all(|rule| is_fine(&rule.check, server, name));
        // A name that is fine belongs to the tool that has it.
        for name in own.iter().filter(|name| !name.is_empty() && is_fine(name)) {
            self.keep(name);
        }
        let room = room(rules, server);
        own.iter().map(|name| if name.is_empty() { None } else { self.of(name, room) }).collect()
    }

    /// A name that stays as it is.
    fn keep(&mut self, name: &str) {
        if !self.by_own.contains_key(name) && !self.by_host.contains_key(name) {
            self.insert(name, name.to_owned());
        }
    }

    /// The name for hosts, with at most `room` characters; `None` if it is the tool's own.
    fn of(&mut self, own: &str, room: usize) -> Option<String> {
        if let Some(known) = self.by_own.get(own) {
            return Some(known.clone()).filter(|known| known != own);
        }
        let plain = safe(own);
        let is_whole = plain.len() <= room && own.chars().count() <= LONGEST;
        let name = if is_whole && !self.by_host.contains_key(&plain) {
            plain
        } else {
            let head: String = plain.chars().take(room - MARK).collect();
            self.marked(head.trim_end_matches('_'), hash(own))
        };
        self.insert(own, name.clone());
        Some(name)
    }

    /// The head with the first number, from this one on, that makes a name which no tool has.
    fn marked(&self, head: &str, mut mark: u32) -> String {
        loop {
            let name = format!("{head}_{:06x}", mark & 0xff_ffff);
            if !self.by_host.contains_key(&name) {
                return name;
            }
            mark = mark.wrapping_add(1);
        }
    }

    /// The tool's own name.
    pub(crate) fn own(&self, name: &str) -> Option<&str> {
        self.by_host.get(name).map(String::as_str)
    }

    fn insert(&mut self, own: &str, name: String) {
        if self.by_own.len() >= MAX_NAMES {
            // Names are made again from the next list, and are the same unless two collide.
            self.by_own.clear();
            self.by_host.clear();
        }
        self.by_own.insert(own.to_owned(), name.clone());
        self.by_host.insert(name, own.to_owned());
    }
}

/// True if the check is not about names, or takes this one.
fn is_fine(check: &Check, server: &str, name: &str) -> bool {
    match check {
        Check::NamePattern { pattern } => pattern.is_match(name),
        check => length(check, server, name).is_none(),
    }
}

/// The characters that are left for a name.
fn room(rules: &[&HostRule], server: &str) -> usize {
    let room = |rule: &&HostRule| match &rule.check {
        Check::NameLength { template, server_max, max } => {
            let server = server.chars().count().min(server_max.unwrap_or(usize::MAX));
            let rest = template.replace("{server}", "").replace("{tool}", "").len();
            let server = if template.contains("{server}") { server } else { 0 };
            Some(max.saturating_sub(rest + server))
        }
        _ => None,
    };
    rules.iter().filter_map(room).min().unwrap_or(LONGEST).clamp(SHORTEST, LONGEST)
}

/// FNV-1a, so that a name has the same digits after every start.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
