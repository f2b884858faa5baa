//! Changes of a host's file, worked out from its text and the records, without I/O.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::diff::diff;
use crate::digest::digest;
use crate::document;
use crate::document::edit::{EditError, Format, Origin};
use crate::document::hidden::hidden;
use crate::document::place;
use crate::entry::Server;
use crate::hosts::Host;
use crate::install_error::InstallError;
use crate::name::check_name;
use crate::receipts::{Former, Receipt, Recorded};
use crate::status::ListedServer;
use crate::value::Value;

/// A change of a file.
#[derive(Debug, Clone)]
pub enum Action {
    /// A server is inserted. It replaces one that this crate has inserted for the same file, command or URL.
    Install {
        /// The name of the server.
        name: String,
        /// The server.
        server: Server,
        /// It replaces any server of this name.
        replaces: bool,
    },
    /// A server of ours is removed.
    Uninstall {
        /// The name of the server.
        name: String,
    },
}

/// A change, worked out but not made.
#[derive(Debug)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// The text before; `None` if there was no file.
    pub before: Option<String>,
    /// The text afterwards; `None` if the file goes.
    pub after: Option<String>,
    /// The copy of the file from before an entry that was changed since goes; otherwise the one from before the first change.
    /// `None` if there is none.
    pub backup: Option<PathBuf>,
    /// The fate of the server that the removed entry had replaced. `None` if it had replaced none.
    pub restored: Option<Restored>,
    /// The record afterwards.
    pub(crate) receipt: Receipt,
    /// True if the file had no entry of ours.
    pub(crate) is_first: bool,
    /// True if the entry that goes is not the one that was recorded. It may be of another origin under the same name.
    pub(crate) is_changed: bool,
    /// The name of the server of another origin that is replaced.
    pub(crate) replaced: Option<String>,
    /// A copy that the record does not need any longer.
    pub(crate) released: Option<PathBuf>,
    format: Format,
    kept: Kept,
}

/// The places of the entry before and afterwards, if it is as this crate writes it.
#[derive(Debug, Clone, Default)]
struct Kept {
    before: Option<Range<usize>>,
    after: Option<Range<usize>>,
}

impl Edit {
    /// The lines of the change with `-` and `+`, and three lines around them, like [`diff`]. Values and comments outside of
    /// the entry are `[redacted]`, since files of hosts have secrets of others; the entry has all of its values.
    pub fn diff(&self) -> String {
        let shown = |text: &Option<String>, kept: &Option<Range<usize>>| {
            let text = text.as_deref().unwrap_or_default();
            // Both texts are in their format, or the change was an error.
            hidden(text, self.format, kept.as_ref()).unwrap_or_default()
        };
        diff(&shown(&self.before, &self.kept.before), &shown(&self.after, &self.kept.after))
    }
}

/// The fate of a server of another origin that an entry had replaced, once the entry is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It is in the file again.
    Back,
    /// It cannot be put into the file. This copy of the file has it.
    InCopy(PathBuf),
}

/// The keys on the way to the servers in this text.
pub(crate) fn keys(host: &Host, text: &str, format: Format) -> Result<&'static [&'static str], EditError> {
    for keys in host.keys {
        // An object in the place of servers, not a server with that name.
        let found = document::servers(text, format, keys);
        if let Err(EditError::Twice(name)) = found {
            return Err(EditError::Twice(name));
        }
        let is_used = |servers: Vec<(_, serde_json::Value)>| {
            !servers.is_empty() && servers.iter().all(|(_, entry)| entry.is_object())
        };
        if host.keys.len() > 1 && found.is_ok_and(is_used) {
            return Ok(keys);
        }
    }
    let last = host.keys.last().copied().unwrap_or_default();
    document::servers(text, format, last).map(|_| last)
}

/// The change of a file with this text, and its record afterwards. `receipt`: the record of the file, if there is one.
pub(crate) fn edit(
    host: &Host,
    path: PathBuf,
    text: Option<&str>,
    receipt: Option<&Receipt>,
    action: &Action,
) -> Result<Edit, InstallError> {
    let format = host.format.ok_or(InstallError::NoFile(host.label))?;
    let failed = |error| InstallError::Edit { path: path.clone(), error };
    let keys = keys(host, text.unwrap_or_default(), format).map_err(failed)?;
    let servers = document::servers(text.unwrap_or_default(), format, keys).map_err(failed)?;
    // A record whose entries are gone says nothing about this file.
    let is_current = |receipt: &&Receipt| servers.iter().any(|(name, _)| receipt.servers.contains(name));
    let receipt = receipt.filter(is_current).cloned();
    let before = Before { path, text, format, keys, servers, receipt };
    match action {
        Action::Install { name, server, replaces } => {
            check_name(name)?;
            let entry = server.entry(host, name).ok_or(InstallError::CommandsOnly(host.label))?;
            // A run that was killed may have written the entry, and no record.
            let is_there = before.has(name, &entry);
            if let Some(other) = before.server(name)
                && !(*replaces || is_there || other.is_recorded() && other.starts_as(server))
            {
                return Err(InstallError::Taken { path: before.path, name: name.clone(), starts: other.shown() });
            }
            before.with(name, &entry)
        }
        Action::Uninstall { name } => match before.server(name) {
            Some(other) if !other.is_ours => Err(InstallError::Foreign { path: before.path, name: name.clone() }),
            Some(_) | None => before.without(name),
        },
    }
}

/// The file of a host before a change.
struct Before<'a> {
    path: PathBuf,
    /// `None` if there is no file.
    text: Option<&'a str>,
    format: Format,
    /// The keys on the way to the servers.
    keys: &'static [&'static str],
    servers: Vec<(String, serde_json::Value)>,
    receipt: Option<Receipt>,
}

impl Before<'_> {
    fn server(&self, name: &str) -> Option<ListedServer> {
        let entry = entry_of(&self.servers, name)?;
        let recorded = Recorded::of(self.receipt.as_ref(), name, entry);
        Some(ListedServer::new(name.to_owned(), entry, recorded))
    }

    /// True if the file has this entry under this name.
    fn has(&self, name: &str, entry: &Value) -> bool {
        let wanted: Option<serde_json::Value> = serde_json::from_str(&entry.to_json()).ok();
        entry_of(&self.servers, name).is_some_and(|found| wanted.is_some_and(|wanted| digest(found) == digest(&wanted)))
    }

    fn is_changed(&self, name: &str) -> bool {
        self.server(name).is_some_and(|server| server.recorded == Recorded::Changed)
    }

    /// The place of an entry that is as it was recorded.
    fn kept(&self, name: &str) -> Option<Range<usize>> {
        self.server(name).filter(|server| server.recorded == Recorded::Same)?;
        place::place(self.text?, self.format, self.keys, name).ok()
    }

    /// Inserts an entry. An entry of the same name is replaced in its place, and recorded if it is of another origin.
    fn with(self, name: &str, entry: &Value) -> Result<Edit, InstallError> {
        let failed = |error| InstallError::Edit { path: self.path.clone(), error };
        let text = self.text.unwrap_or_default();
        let is_there = self.has(name, entry);
        let existing = self.server(name);
        let mut receipt = self.receipt.clone().unwrap_or_else(|| self.fresh());
        let is_first_inserted = receipt.inserted().next().is_none();
        let mut replaced = None;
        let after = match &existing {
            None => {
                let edited = document::insert(text, self.format, self.keys, name, entry).map_err(failed)?;
                if is_first_inserted {
                    receipt.origin = edited.origin;
                }
                edited.text
            }
            Some(other) if is_there => {
                if !other.is_recorded() && is_first_inserted {
                    receipt.origin = Origin::of_entry(self.keys.len());
                }
                text.to_owned()
            }
            Some(other) => {
                if let (false, Some(entry)) = (other.is_recorded(), entry_of(&self.servers, name)) {
                    let span = place::place(text, self.format, self.keys, name).map_err(failed)?;
                    let former = Former { digest: digest(entry), text: text[span].to_owned(), copy: None };
                    receipt.former.insert(name.to_owned(), former);
                    replaced = Some(name.to_owned());
                }
                place::replace(text, self.format, self.keys, name, entry).map_err(failed)?
            }
        };
        let kept = Kept { before: self.kept(name), after: place::place(&after, self.format, self.keys, name).ok() };
        // Read again, since a notation may not have all types of JSON.
        let servers = document::servers(&after, self.format, self.keys).map_err(failed)?;
        if let Some(entry) = entry_of(&servers, name) {
            receipt.record(name, entry);
        }
        let is_changed = self.is_changed(name);
        Ok(Edit { replaced, kept, is_changed, ..self.edit(Some(after), receipt) })
    }

    /// Removes an entry. A server of another origin that it has replaced comes back.
    fn without(self, name: &str) -> Result<Edit, InstallError> {
        let failed = |error| InstallError::Edit { path: self.path.clone(), error };
        let mut receipt = self.receipt.clone().unwrap_or_else(|| self.fresh());
        let existed = self.receipt.as_ref().is_none_or(|receipt| receipt.existed);
        let former = receipt.former.get(name).cloned();
        let back = former.as_ref().and_then(|former| self.with_former(name, former));
        let is_last = receipt.inserted().eq([name]);
        let after = match &back {
            Some(text) => text.clone(),
            None => {
                let origin = Some(&receipt.origin).filter(|_| is_last);
                let text = self.text.unwrap_or_default();
                document::remove(text, self.format, self.keys, name, origin).map_err(failed)?
            }
        };
        receipt.forget(name);
        let copy = former.and_then(|former| former.copy);
        let (restored, released) = match (back, copy) {
            (Some(_), copy) => (Some(Restored::Back), copy),
            (None, Some(copy)) => (Some(Restored::InCopy(copy)), None),
            (None, None) => (None, None),
        };
        let is_gone = !existed && after.trim().is_empty();
        let kept = Kept { before: self.kept(name), after: None };
        let is_changed = self.is_changed(name);
        Ok(Edit { restored, released, kept, is_changed, ..self.edit((!is_gone).then_some(after), receipt) })
    }

    /// The text with the server that an entry of ours has replaced, in the place of that entry. `None` if the text in the
    /// record does not give that server there.
    fn with_former(&self, name: &str, former: &Former) -> Option<String> {
        let text = place::restore(self.text?, self.format, self.keys, name, &former.text).ok()?;
        let servers = document::servers(&text, self.format, self.keys).ok()?;
        let is_back = entry_of(&servers, name).is_some_and(|entry| digest(entry) == former.digest);
        let others = |servers: &[(String, serde_json::Value)]| -> Vec<_> {
            servers.iter().filter(|(known, _)| known != name).cloned().collect()
        };
        (is_back && others(&servers) == others(&self.servers)).then_some(text)
    }

    /// The record of a file that had none.
    fn fresh(&self) -> Receipt {
        Receipt {
            path: self.path.clone(),
            existed: self.text.is_some(),
            directories: Vec::new(),
            copy: None,
            origin: Origin::default(),
            servers: Vec::new(),
            digests: BTreeMap::new(),
            former: BTreeMap::new(),
        }
    }

    fn edit(self, after: Option<String>, receipt: Receipt) -> Edit {
        Edit {
            before: self.text.map(str::to_owned),
            after,
            backup: None,
            restored: None,
            receipt,
            is_first: self.receipt.is_none(),
            is_changed: false,
            replaced: None,
            released: None,
            format: self.format,
            kept: Kept::default(),
            path: self.path,
        }
    }
}

fn entry_of<'a>(servers: &'a [(String, serde_json::Value)], name: &str) -> Option<&'a serde_json::Value> {
    servers.iter().find(|(known, _)| known == name).map(|(_, entry)| entry)
}
