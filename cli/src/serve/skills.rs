//! The skills that are served in addition to the tools of a file.

use protomcp_skills::Skills;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::tool::ToolFlags;
use crate::exit::Failure;

/// The skills in the folders of the command line, which are loaded again on SIGHUP and, if they are watched, after a
/// save. `None` without such folders.
pub(super) fn open(tool: &ToolFlags) -> Result<Option<Skills>, Failure> {
    let folders = tool.skill_folders();
    if folders.is_empty() {
        return Ok(None);
    }
    let skills = Skills::load(folders).map_err(|error| Failure::usage(error.to_string()))?;
    match skills.tree().skills().count() {
        0 => tracing::warn!("--skills: no folder has a SKILL.md"),
        1 => tracing::info!("serving 1 skill"),
        count => tracing::info!("serving {count} skills"),
    }
    let reload = match tool.watched_skills() {
        Some(poll) => skills
            .reload_on_change(folders.to_vec(), poll)
            .map_err(|error| Failure::usage(format!("cannot watch the skills: {error}")))?,
        None => skills.reload_on_request(folders.to_vec()),
    };
    let mut requests =
        signal(SignalKind::hangup()).map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    tokio::spawn(async move {
        while requests.recv().await.is_some() {
            reload.request();
        }
    });
    Ok(Some(skills))
}
