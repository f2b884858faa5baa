//! Copies of a host's file from before a change, next to it: `.pmcp-backup` behind its name, then `.pmcp-backup-2` and
//! so on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::file::{ConfigFile, FileError};

/// The most copies of one file.
const MAX: usize = 9;

/// Copies a file, unless a copy has its text. Returns the copy; `None` if there is no file. Where there are nine, the
/// oldest one that no record needs is overwritten.
///
/// # Errors
///
/// The copy cannot be written, or records need all nine.
pub(crate) fn make(file: &ConfigFile, needed: &[PathBuf]) -> Result<Option<PathBuf>, FileError> {
    let Some(text) = file.text() else { return Ok(None) };
    let names = names(file);
    if let Some(same) = names.iter().find(|name| has(name, text)) {
        return Ok(Some(same.clone()));
    }
    let free = names.iter().find(|name| name.symlink_metadata().is_err());
    let written = |name: &&PathBuf| name.symlink_metadata().and_then(|copy| copy.modified()).ok();
    let oldest = || names.iter().filter(|name| !needed.contains(name)).min_by_key(written);
    let name = free.or_else(oldest).ok_or_else(|| FileError::Copies(file.path().to_owned()))?;
    file.write_next_to(name, text)?;
    Ok(Some(name.clone()))
}

/// Deletes a copy, unless a record needs it.
pub(crate) fn release(file: &ConfigFile, copy: &Path, needed: &[PathBuf]) -> Result<(), FileError> {
    // Records are a file as well, which others may have written.
    let is_in = |copies: &[PathBuf]| copies.iter().any(|known| known == copy);
    if is_in(needed) || !is_in(&names(file)) || copy.symlink_metadata().is_err() {
        return Ok(());
    }
    fs::remove_file(copy).map_err(FileError::io("delete", copy))
}

/// Deletes the copies that have this text, unless a record needs them.
pub(crate) fn drop_same(file: &ConfigFile, text: &str, needed: &[PathBuf]) -> Result<(), FileError> {
    names(file).iter().filter(|name| has(name, text)).try_for_each(|name| release(file, name, needed))
}

fn names(file: &ConfigFile) -> Vec<PathBuf> {
    let others = (2..=MAX).map(|number| file.sibling(&format!(".pmcp-backup-{number}")));
    [file.sibling(".pmcp-backup")].into_iter().chain(others).collect()
}

/// True if a copy has this text.
fn has(copy: &Path, text: &str) -> bool {
    let is_alike = |found: fs::Metadata| found.is_file() && found.len() == text.len() as u64;
    copy.symlink_metadata().is_ok_and(is_alike) && fs::read(copy).is_ok_and(|bytes| bytes == text.as_bytes())
}
