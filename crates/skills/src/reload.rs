//! Loads folders again: when their files change, or when it is requested. A tree that cannot be loaded changes nothing.

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_watch::{Filter, Pace, Watch, WatchError, Watcher};
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};

use crate::load_error::LoadError;
use crate::skills::Skills;
use crate::tree::SkillTree;

/// Folders that are loaded again, until it is dropped. [`Skills::reload_on_request`] and [`Skills::reload_on_change`]
/// make one. The outcome of each load is logged.
#[derive(Debug)]
pub struct SkillsReload {
    wanted: Arc<Notify>,
    _watchers: Vec<Watcher>,
    _tasks: JoinSet<()>,
}

impl SkillsReload {
    /// Loads the folders again. Requests during a load become one more load.
    pub fn request(&self) {
        self.wanted.notify_one();
    }
}

impl Skills {
    /// Loads the skills in some folders ([`SkillTree::load_all`]), and logs a warning for each file or folder that is
    /// left out. Blocks while it reads.
    ///
    /// # Errors
    /// See [`SkillTree::load_all`].
    pub fn load(folders: &[PathBuf]) -> Result<Self, LoadError> {
        let tree = SkillTree::load_all(folders)?;
        log_omissions(&tree, &SkillTree::default());
        Ok(Self::new(tree))
    }

    /// Loads the skills in some folders, and serves them from now on. The log has a warning for each file or folder that is
    /// left out and was not before. Must be called inside of a tokio runtime.
    ///
    /// # Errors
    /// See [`SkillTree::load_all`]; the skills stay as they were.
    pub async fn load_again(&self, folders: Vec<PathBuf>) -> Result<(), LoadError> {
        match spawn_blocking(move || SkillTree::load_all(folders.iter())).await {
            Ok(loaded) => {
                let old = self.replace(loaded?);
                log_omissions(&self.tree(), &old);
                Ok(())
            }
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The runtime ends.
            Err(_) => Ok(()),
        }
    }

    /// Loads the folders again on each request. Must be called inside of a tokio runtime with timers.
    #[must_use]
    pub fn reload_on_request(&self, folders: Vec<PathBuf>) -> SkillsReload {
        self.reload(folders, Vec::new(), JoinSet::new(), Arc::default())
    }

    /// Loads the folders again on each request and after each change of a file in them. `poll`: looks for changes at
    /// this interval instead of using the system's notifications. Must be called inside of a tokio runtime with timers.
    ///
    /// # Errors
    /// If a folder cannot be watched.
    pub fn reload_on_change(&self, folders: Vec<PathBuf>, poll: Option<Duration>) -> Result<SkillsReload, WatchError> {
        let (mut watchers, mut tasks, wanted) = (Vec::new(), JoinSet::new(), Arc::new(Notify::new()));
        for folder in &folders {
            let watch = Watch::directory(folder, Filter::new().all_files().without_gitignore());
            let watch = match poll {
                Some(pause) => watch.poll_every(pause),
                None => watch,
            };
            let (watcher, mut batches) = Watcher::spawn(watch)?;
            watchers.push(watcher);
            let wanted = Arc::clone(&wanted);
            tasks.spawn(async move {
                while batches.recv().await.is_some() {
                    wanted.notify_one();
                }
            });
        }
        // A file may have changed after it was read and before it was watched.
        wanted.notify_one();
        Ok(self.reload(folders, watchers, tasks, wanted))
    }

    fn reload(
        &self,
        folders: Vec<PathBuf>,
        watchers: Vec<Watcher>,
        mut tasks: JoinSet<()>,
        wanted: Arc<Notify>,
    ) -> SkillsReload {
        let (skills, folders, requests) = (self.clone(), Arc::new(folders), Arc::clone(&wanted));
        tasks.spawn(async move {
            let mut pace = Pace::default();
            loop {
                requests.notified().await;
                if let Some(at) = pace.ready_at() {
                    tokio::time::sleep_until(at.into()).await;
                }
                pace.begin(Instant::now());
                let folders = Arc::clone(&folders);
                match spawn_blocking(move || SkillTree::load_all(folders.iter())).await {
                    Ok(loaded) => skills.take(loaded),
                    // The runtime ends.
                    Err(_) => return,
                }
            }
        });
        SkillsReload { wanted, _watchers: watchers, _tasks: tasks }
    }

    /// Serves a tree that was loaded again, if it could be.
    fn take(&self, loaded: Result<SkillTree, LoadError>) {
        match loaded {
            Ok(tree) => {
                let old = self.replace(tree);
                let new = self.tree();
                log_omissions(&new, &old);
                if new != old {
                    tracing::info!(skills = new.skills().count(), "skills reloaded");
                }
            }
            Err(error) => tracing::warn!("the skills were not reloaded, and the ones before are served: {error}"),
        }
    }
}

/// Logs the files and folders that were not left out of the tree before.
pub(crate) fn log_omissions(new: &SkillTree, old: &SkillTree) {
    let before: HashSet<_> = old.omissions().iter().collect();
    let mut others = new.omissions().iter().filter(|omission| !before.contains(omission));
    for omission in others.by_ref().take(MAX_LINES) {
        tracing::warn!("not served as part of a skill: {omission}");
    }
    let count = others.count();
    if count > 0 {
        tracing::warn!(count, "others are not served as part of a skill either");
    }
}

/// The most lines about what one load leaves out.
const MAX_LINES: usize = 64;
