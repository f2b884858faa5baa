//! The folders of a server: of its user, who names them before it starts, and of a program behind it, which names others
//! each time it starts.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_watch::WatchError;
use thiserror::Error;

use crate::load_error::LoadError;
use crate::reload::{SkillsReload, log_omissions};
use crate::skills::Skills;
use crate::tree::SkillTree;

/// The events after which folders are loaded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOn {
    /// Requests alone ([`SkillFolders::reload`]).
    Request,
    /// Requests, and changes of the files. `poll`: looks for changes at this interval instead of using the system's
    /// notifications.
    Change {
        /// The interval.
        poll: Option<Duration>,
    },
}

/// The reason why the skills in folders are not served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FoldersError {
    /// They cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Their changes cannot be noticed.
    #[error("cannot watch the skills: {0}")]
    Watch(#[from] WatchError),
}

/// Skills in folders that are loaded again. Requests for them wait until [`Skills::release`].
#[derive(Debug)]
pub struct SkillFolders {
    skills: Skills,
    /// The folders of the user.
    own: Vec<PathBuf>,
    on: ReloadOn,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` while other folders are loaded.
    reload: Option<SkillsReload>,
    /// The program behind the server has folders.
    has_named: bool,
    /// The first folders of the program are served, or it had none.
    has_begun: bool,
}

impl SkillFolders {
    /// Loads the folders of the user, if there are any. Blocks while it reads. Must be called inside of a tokio runtime
    /// with timers.
    ///
    /// # Errors
    /// [`FoldersError`] if a folder cannot be loaded or watched.
    pub fn open(own: Vec<PathBuf>, on: ReloadOn) -> Result<Self, FoldersError> {
        let tree = SkillTree::load_all(&own)?;
        log_omissions(&tree, &SkillTree::default());
        let skills = Skills::held(tree);
        let reload = Some(begin(&skills, own.clone(), on)?);
        let state = Mutex::new(State { reload, has_named: false, has_begun: false });
        Ok(Self { skills, own, on, state })
    }

    /// The skills in all folders.
    #[must_use]
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Loads the folders again.
    pub fn reload(&self) {
        if let Some(reload) = &self.state().reload {
            reload.request();
        }
    }

    /// Serves the skills in these folders of the program, too, in place of the folders that it named before. A folder that
    /// the user has named, too, is loaded once.
    ///
    /// # Errors
    /// [`FoldersError`] if the first folders of the program cannot be loaded or watched. Later ones that cannot be loaded
    /// change nothing, and the log has the reason.
    pub async fn serve_named(&self, named: Vec<PathBuf>) -> Result<(), FoldersError> {
        let has_named = !named.is_empty();
        let has_begun = {
            let mut state = self.state();
            if !has_named && !state.has_named {
                state.has_begun = true;
                return Ok(());
            }
            // It may be loading the folders before.
            state.reload = None;
            state.has_begun
        };
        let all: Vec<_> = self.own.iter().cloned().chain(named).collect();
        if !has_begun {
            self.skills.load_again(all.clone()).await?;
        }
        let reload = match begin(&self.skills, all.clone(), self.on) {
            Ok(reload) => reload,
            Err(error) if has_begun => {
                tracing::warn!("cannot watch the skills: {error}");
                self.skills.reload_on_request(all)
            }
            Err(error) => return Err(error.into()),
        };
        if has_begun {
            reload.request();
        }
        *self.state() = State { reload: Some(reload), has_named, has_begun: true };
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(skills: &Skills, folders: Vec<PathBuf>, on: ReloadOn) -> Result<SkillsReload, WatchError> {
    match on {
        ReloadOn::Request => Ok(skills.reload_on_request(folders)),
        ReloadOn::Change { poll } => skills.reload_on_change(folders, poll),
    }
}
