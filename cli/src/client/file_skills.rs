//! The skills in the folders that a tool file names, for a command that starts the file once.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_skills::Skills;

/// The skills of a tool file. Cloning is cheap, and all clones have the same skills.
#[derive(Debug, Clone, Default)]
pub(super) struct FileSkills {
    skills: Skills,
    named: Arc<Mutex<Named>>,
}

/// The folders, as the file has named them.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    pub(super) folders: Vec<PathBuf>,
    /// The reason why their skills are not served.
    pub(super) fault: Option<String>,
}

impl FileSkills {
    /// The skills that are served.
    pub(super) fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The folders that the file has named.
    pub(super) fn named(&self) -> Named {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves the skills in these folders. Skills that cannot be loaded do not refuse a command that is about
    /// tools.
    pub(super) async fn serve(self, folders: Vec<PathBuf>) -> Result<(), String> {
        let fault = self.skills.load_again(folders.clone()).await.err().map(|error| error.to_string());
        if let Some(why) = &fault {
            tracing::warn!("the skills are not served: {why}");
        }
        *self.named.lock().unwrap_or_else(PoisonError::into_inner) = Named { folders, fault };
        Ok(())
    }
}
