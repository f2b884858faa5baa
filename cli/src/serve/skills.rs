//! The skills that are served in addition to the tools of a file.

use std::path::PathBuf;
use std::sync::Arc;

use protomcp_bridge::{Bridge, Builder, Starting};
use protomcp_skills::{ReloadOn, SkillFolders, Skills};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::tool::ToolFlags;
use crate::exit::Failure;

/// The skills in the folders of the command line, and in the folders that the tool process names. They are loaded again on
/// SIGHUP and, if they are watched, after a save.
#[derive(Debug, Clone)]
pub(super) struct FileSkills(Arc<SkillFolders>);

impl FileSkills {
    /// Loads the folders of the command line; `None` in front of other servers. Must be called inside of a runtime.
    pub(super) fn open(tool: &ToolFlags) -> Result<Option<Self>, Failure> {
        let Some(own) = tool.skill_folders() else { return Ok(None) };
        let on = tool.watched_skills().map_or(ReloadOn::Request, |poll| ReloadOn::Change { poll });
        let folders = SkillFolders::open(own.to_vec(), on).map_err(|error| Failure::usage(error.to_string()))?;
        if !own.is_empty() && !note(folders.skills()) {
            tracing::warn!("--skills: no folder has a SKILL.md");
        }
        let folders = Arc::new(folders);
        let mut requests = signal(SignalKind::hangup())
            .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
        let reloaded = Arc::clone(&folders);
        tokio::spawn(async move {
            while requests.recv().await.is_some() {
                reloaded.reload();
            }
        });
        Ok(Some(Self(folders)))
    }

    /// The skills in all folders.
    pub(super) fn skills(&self) -> &Skills {
        self.0.skills()
    }

    /// Launches the bridge to the tool file, whose process may name folders. Requests for skills wait for its first
    /// version.
    pub(super) fn launch(&self, builder: Builder) -> (Bridge, Starting) {
        let folders = Arc::clone(&self.0);
        let serve = move |named| serve_named(Arc::clone(&folders), named);
        let (bridge, starting) = builder.skill_folders(serve).launch();
        let (first, skills) = (bridge.first_version(), self.skills().clone());
        tokio::spawn(async move {
            first.await;
            skills.release();
        });
        (bridge, starting)
    }
}

/// Serves the skills in the folders that the tool process has named.
async fn serve_named(folders: Arc<SkillFolders>, named: Vec<PathBuf>) -> Result<(), String> {
    // Later versions are loaded in the background.
    let is_first = !named.is_empty() && folders.skills().is_held();
    folders.serve_named(named).await.map_err(|error| error.to_string())?;
    if is_first && !note(folders.skills()) {
        tracing::warn!("skills(): no folder has a SKILL.md");
    }
    Ok(())
}

/// Logs the number of skills. Returns false if there are none.
fn note(skills: &Skills) -> bool {
    match skills.tree().skills().count() {
        0 => return false,
        1 => tracing::info!("serving 1 skill"),
        count => tracing::info!("serving {count} skills"),
    }
    true
}
