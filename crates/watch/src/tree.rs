//! The known state of the files, and its differences from the disk.
//!
//! Directories are entered from the top, and each is watched *before* it is listed: the listing finds earlier changes,
//! and later ones raise a notification. The nearest directories come first, so that a reached limit costs the deepest
//! ones.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::disk::{ENVIRONMENT_MARK, GITIGNORE, Stamp, read_gitignore, resolve_links};
use crate::filter::Filter;
use crate::native::Evidence;
use crate::remote;

/// The most directories that are entered. Deeper ones are left out with a warning: that concerns a tool in the home
/// directory, not a project.
pub const MAX_DIRECTORIES: usize = 8_192;

/// The most files that are remembered. With notifications further files still count, but polling does not see them.
pub const MAX_FILES: usize = 65_536;

/// The selected files below one root.
pub(crate) struct Tree {
    /// The root as it was written, which links may lead to another directory later.
    written: PathBuf,
    /// The directory that it leads to.
    root: PathBuf,
    /// That directory itself, as it was before it was announced. `None` if it was missing.
    root_stamp: Option<Stamp>,
    filter: Filter,
    /// The files requested by name; the filter's list has the links on the way to them and to the root, and their targets.
    entries: BTreeSet<PathBuf>,
    directories: BTreeMap<PathBuf, Directory>,
    /// Directories that could not be listed, at most as many as may be entered. The log has named them.
    unreadable: BTreeSet<PathBuf>,
    /// Named files that are in no entered directory.
    elsewhere: BTreeMap<PathBuf, Option<Stamp>>,
    /// The ones among them with an announced directory.
    elsewhere_watched: BTreeSet<PathBuf>,
    /// A named file, or a link on the way to one, may change without a notification.
    is_silent: bool,
    files: usize,
    bounds: Bounds,
    /// True if a limit was reached, which is reported once.
    complained: bool,
}

/// [`MAX_DIRECTORIES`] and [`MAX_FILES`].
struct Bounds {
    directories: usize,
    files: usize,
}

/// The content of a directory at its last scan.
#[derive(Default)]
struct Directory {
    files: BTreeMap<OsString, Stamp>,
    entered: BTreeSet<OsString>,
    gitignore: Option<Stamp>,
}

/// Called for each directory before it is listed, so that it can be watched.
pub(crate) type OnDirectory<'a> = &'a mut dyn FnMut(&Path);

impl Tree {
    /// An empty tree; `written`, its root, and the files of the filter are absolute.
    pub(crate) fn new(written: PathBuf, filter: Filter) -> Self {
        let entries = filter.named().clone();
        let mut tree = Self {
            root: written.canonicalize().unwrap_or_else(|_| written.clone()),
            root_stamp: None,
            written,
            filter,
            entries,
            directories: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            elsewhere: BTreeMap::new(),
            elsewhere_watched: BTreeSet::new(),
            is_silent: false,
            files: 0,
            bounds: Bounds { directories: MAX_DIRECTORIES, files: MAX_FILES },
            complained: false,
        };
        tree.filter.set_named(tree.links());
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// True if notifications are not enough for the named files, as of the last scan or change of one of them.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// True if there are no files: the root may be removed next.
    pub(crate) fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// True if the root is missing, or is another directory than at its last scan, which notifications are about. While a
    /// program runs in a directory that was removed, Linux does not say so. The disk is read.
    pub(crate) fn is_root_lost(&self) -> bool {
        let now = Stamp::of(&self.root).ok();
        now.is_none() || now != self.root_stamp
    }

    /// True if the file is in a virtual environment below the root, now that the file is known: the directory may have been
    /// listed before its environment had a mark. The disk is read.
    pub(crate) fn is_installed(&self, file: &Path) -> bool {
        let above = file
            .ancestors()
            .skip(1)
            .take_while(|directory| *directory != self.root && directory.starts_with(&self.root));
        !self.filter.names(file) && above.into_iter().any(|directory| directory.join(ENVIRONMENT_MARK).is_file())
    }

    /// Scans everything and returns the selected files that changed.
    pub(crate) fn scan(&mut self, on_directory: OnDirectory<'_>) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        self.read_rules_above();
        self.enter(self.root.clone(), on_directory, &mut changed);
        self.elsewhere_watched.clear();
        self.follow_links(on_directory, &mut changed);
        changed
    }

    /// Checks one path of a notification. Without certain evidence the check decides.
    pub(crate) fn refresh(&mut self, path: &Path, evidence: Evidence, on_directory: OnDirectory<'_>) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        let known_parent = path.parent().is_some_and(|parent| self.directories.contains_key(parent));
        if path == self.root {
            if evidence == Evidence::Certain {
                self.enter(path.to_owned(), on_directory, &mut changed);
            }
        } else if known_parent {
            self.refresh_inside(path, evidence, on_directory, &mut changed);
        } else if self.filter.names(path) {
            let now = Stamp::of(path).ok();
            let before = self.elsewhere.insert(path.to_owned(), now);
            if before.flatten() != now || evidence == Evidence::Certain && now.is_some() {
                changed.push(path.to_owned());
            }
        }
        if self.filter.names(path) {
            self.follow_links(on_directory, &mut changed);
        }
        changed
    }

    fn refresh_inside(
        &mut self,
        path: &Path,
        evidence: Evidence,
        on_directory: OnDirectory<'_>,
        changed: &mut Vec<PathBuf>,
    ) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        if name == GITIGNORE || name == ENVIRONMENT_MARK {
            self.enter(parent.to_owned(), on_directory, changed);
        } else if is_directory {
            let entered = self.directories.contains_key(path);
            if (evidence == Evidence::Certain || !entered) && self.filter.enters(path) {
                self.drop_file(path, changed);
                if let Some(directory) = self.directories.get_mut(parent) {
                    directory.entered.insert(name.to_owned());
                }
                self.enter(path.to_owned(), on_directory, changed);
            }
        } else {
            self.forget(path, Some(&mut *changed));
            if let Some(directory) = self.directories.get_mut(parent) {
                directory.entered.remove(name);
            }
            if self.filter.wants(path) {
                self.refresh_file(path, evidence, changed);
            }
        }
    }

    fn refresh_file(&mut self, path: &Path, evidence: Evidence, changed: &mut Vec<PathBuf>) {
        let Ok(now) = Stamp::of(path) else { return self.drop_file(path, changed) };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let full = self.files >= self.bounds.files;
        let Some(directory) = self.directories.get_mut(parent) else { return };
        let before = match directory.files.get_mut(name) {
            Some(stamp) => Some(std::mem::replace(stamp, now)),
            None if full => None,
            None => {
                self.files += 1;
                directory.files.insert(name.to_owned(), now)
            }
        };
        if evidence == Evidence::Certain || before != Some(now) {
            changed.push(path.to_owned());
        }
    }

    /// Handles the loss of a file.
    fn drop_file(&mut self, path: &Path, changed: &mut Vec<PathBuf>) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(directory) = self.directories.get_mut(parent) else { return };
        if directory.files.remove(name).is_some() {
            self.files -= 1;
            changed.push(path.to_owned());
        }
    }

    /// Handles a directory that cannot be listed. The log names it once, until it can be listed again, or is gone.
    fn lose(&mut self, path: PathBuf, error: &io::Error, changed: &mut Vec<PathBuf>) {
        let is_known = self.unreadable.contains(&path);
        self.forget(&path, Some(changed));
        // At the bound the log has named as many as there may be directories.
        if error.kind() == io::ErrorKind::NotFound || self.unreadable.len() >= self.bounds.directories {
            return;
        }
        if !is_known {
            tracing::warn!(directory = %path.display(), %error, "cannot watch this directory");
        }
        self.unreadable.insert(path);
    }

    /// Handles a directory that is no longer entered. Its files are gone, or, without `changed`, only hidden.
    fn forget(&mut self, path: &Path, mut changed: Option<&mut Vec<PathBuf>>) {
        let from = (Bound::Included(path), Bound::Unbounded);
        while let Some(below) = self.unreadable.range::<Path, _>(from).next().filter(|below| below.starts_with(path)) {
            let below = below.clone();
            self.unreadable.remove(&below);
        }
        while let Some((below, _)) = self.directories.range::<Path, _>(from).next() {
            if !below.starts_with(path) {
                return;
            }
            let below = below.clone();
            let Some(directory) = self.directories.remove(&below) else { return };
            self.filter.set_gitignore(&below, "");
            self.filter.remove_environment(&below);
            self.files -= directory.files.len();
            if let Some(changed) = changed.as_deref_mut() {
                changed.extend(directory.files.keys().map(|name| below.join(name)));
            }
        }
    }

    /// Lists a directory and all entered ones below it.
    fn enter(&mut self, from: PathBuf, on_directory: OnDirectory<'_>, changed: &mut Vec<PathBuf>) {
        let mut queue = VecDeque::from([from]);
        while let Some(path) = queue.pop_front() {
            if !self.directories.contains_key(&path) && self.directories.len() >= self.bounds.directories {
                self.warn_once("too many directories; the deepest are not watched, list large ones in .gitignore");
                continue;
            }
            if path == self.root {
                self.root_stamp = Stamp::of(&path).ok();
            }
            on_directory(&path);
            match self.list(&path, changed) {
                Ok(listed) => {
                    self.unreadable.remove(&path);
                    queue.extend(listed);
                }
                Err(error) => self.lose(path, &error, changed),
            }
        }
    }

    /// Lists one directory, compares it with its known state, and returns the directories to enter next.
    ///
    /// Files hidden by new rules have not changed. Files that new rules reveal count, because they cannot be
    /// distinguished from new ones.
    fn list(&mut self, path: &Path, changed: &mut Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(path)?;
        let mut before = self.directories.remove(path).unwrap_or_default();
        self.files -= before.files.len();
        let mut now = Directory { gitignore: Stamp::of(&path.join(GITIGNORE)).ok(), ..Directory::default() };
        if now.gitignore != before.gitignore {
            self.filter.set_gitignore(path, &read_gitignore(path));
        }
        // The root is watched because it was requested.
        if path != self.root && path.join(ENVIRONMENT_MARK).is_file() {
            self.filter.add_environment(path);
        } else {
            self.filter.remove_environment(path);
        }
        let mut next = Vec::new();
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if self.filter.enters(&path) {
                    next.push(path);
                    now.entered.insert(name);
                } else if before.entered.remove(&name) {
                    self.forget(&path, None);
                }
                continue;
            }
            if !self.filter.wants(&path) {
                before.files.remove(&name);
                continue;
            }
            // Gone again: it stays among the known files, and so among the missing ones.
            let Ok(stamp) = Stamp::of(&path) else { continue };
            let was = before.files.remove(&name);
            if self.files + now.files.len() >= self.bounds.files {
                self.warn_once(
                    "too many files; polling does not see all of them, list large directories in .gitignore",
                );
                continue;
            }
            if was != Some(stamp) {
                changed.push(path);
            }
            now.files.insert(name, stamp);
        }
        for gone in before.entered.difference(&now.entered) {
            self.forget(&path.join(gone), Some(&mut *changed));
        }
        changed.extend(before.files.keys().map(|gone| path.join(gone)));
        self.files += now.files.len();
        self.directories.insert(path.to_owned(), now);
        Ok(next)
    }

    /// The links on the way to the root and to the named files, and the targets of those.
    fn links(&self) -> BTreeSet<PathBuf> {
        let mut links = resolve_links(&self.written);
        links.pop_if(|root| root.is_dir());
        links.extend(self.entries.iter().flat_map(|entry| resolve_links(entry)));
        links.into_iter().collect()
    }

    /// Enters the directory that the root leads to now. The link to it is what has changed, not each file there.
    fn follow_root(&mut self, on_directory: OnDirectory<'_>) {
        let now = self.written.canonicalize().ok().filter(|now| *now != self.root && now.is_dir());
        let Some(now) = now else { return };
        let before = std::mem::replace(&mut self.root, now.clone());
        self.forget(&before, None);
        self.filter.set_named(self.links());
        self.read_rules_above();
        self.enter(now, on_directory, &mut Vec::new());
    }

    /// Follows the root and each named file link by link, and watches the directory of every link and of its target.
    fn follow_links(&mut self, on_directory: OnDirectory<'_>, changed: &mut Vec<PathBuf>) {
        self.follow_root(&mut *on_directory);
        let named = self.links();
        let outside = |path: &PathBuf| path.parent().is_none_or(|parent| !self.directories.contains_key(parent));
        let mut elsewhere = BTreeMap::new();
        for path in named.iter().filter(|path| outside(path)) {
            let known = self.elsewhere.get(path).copied();
            if self.elsewhere_watched.insert(path.clone()) {
                // One request for the root of the system may cover everything.
                let directory = path.parent().filter(|directory| directory.parent().is_some());
                directory.into_iter().for_each(&mut *on_directory);
            }
            let now = Stamp::of(path).ok();
            if known.is_some_and(|known| known != now) {
                changed.push(path.clone());
            }
            elsewhere.insert(path.clone(), now);
        }
        self.elsewhere_watched.retain(|path| elsewhere.contains_key(path));
        self.elsewhere = elsewhere;
        self.is_silent = named.iter().any(|path| remote::is_silent(path));
        self.filter.set_named(named);
    }

    /// Reads the `.gitignore` files above the root, up to the top of the repository; outside of one there are none.
    fn read_rules_above(&mut self) {
        let above = self.root.ancestors().skip(1);
        let within = self.root.ancestors().position(|directory| directory.join(".git").exists()).unwrap_or(0);
        for directory in above.take(within) {
            self.filter.set_gitignore(directory, &read_gitignore(directory));
        }
    }

    fn warn_once(&mut self, what: &str) {
        if !self.complained {
            self.complained = true;
            tracing::warn!(root = %self.root.display(), "{what}");
        }
    }
}

#[cfg(test)]
mod tests;
