//! The names of tools for hosts, each for one tool for as long as the program runs.

use std::collections::HashMap;

use crate::rules::names::safe as safe_name;

/// The longest name that is made.
pub(super) const LONGEST: usize = 40;
/// The shortest length to which names are cut, whatever the server's name leaves.
pub(super) const SHORTEST: usize = 16;
/// The most names that are kept. A server may change its list as often as it likes.
const MAX_NAMES: usize = 10_000;
/// The digits that tell cut names from each other, and the `_` before them.
const MARK: usize = 7;

#[derive(Debug, Default)]
pub(super) struct Names {
    by_host: HashMap<String, String>,
    by_own: HashMap<String, String>,
}

impl Names {
    /// A name that stays as it is.
    pub(super) fn keep(&mut self, name: &str) {
        if !self.by_own.contains_key(name) && !self.by_host.contains_key(name) {
            self.insert(name, name.to_owned());
        }
    }

    /// The name for hosts, with at most `room` characters; `None` if it is the tool's own.
    pub(super) fn of(&mut self, own: &str, room: usize) -> Option<String> {
        if let Some(known) = self.by_own.get(own) {
            return Some(known.clone()).filter(|known| known != own);
        }
        let plain = safe_name(own);
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
    pub(super) fn own(&self, name: &str) -> Option<&str> {
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

/// FNV-1a, so that a name has the same digits after every start.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
