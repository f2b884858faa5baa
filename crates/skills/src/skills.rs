//! The skills that a server serves now. Another tree may take the place of the one that is served.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use protomcp_server::{Audience, CacheHints, ServerHandle};
use tokio::sync::SetOnce;

use crate::tree::SkillTree;

/// The skills that a server serves. Cloning is cheap, and all clones have the same tree.
#[derive(Clone, Default)]
pub struct Skills(Arc<Shared>);

#[derive(Default)]
struct Shared {
    tree: ArcSwap<SkillTree>,
    /// The clients that are notified of changes.
    sessions: OnceLock<ServerHandle>,
    /// Set when requests may be answered; `None` if they always may.
    release: Option<SetOnce<()>>,
}

impl Skills {
    /// Skills that are served until they are replaced.
    #[must_use]
    pub fn new(tree: SkillTree) -> Self {
        Self(Arc::new(Shared { tree: ArcSwap::from_pointee(tree), ..Shared::default() }))
    }

    /// The same, but requests for skills wait until [`Skills::release`]: the first folders are not known yet. Requests
    /// for the list of resources wait as long as the service behind the skills makes them wait.
    #[must_use]
    pub fn held(tree: SkillTree) -> Self {
        let shared = Shared { tree: ArcSwap::from_pointee(tree), release: Some(SetOnce::new()), ..Shared::default() };
        Self(Arc::new(shared))
    }

    /// Answers requests from now on.
    pub fn release(&self) {
        if let Some(release) = &self.0.release {
            // It may have been set before.
            let _again = release.set(());
        }
    }

    /// True while requests wait.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.0.release.as_ref().is_some_and(|release| !release.initialized())
    }

    /// Waits until requests may be answered.
    pub(crate) async fn released(&self) {
        if let Some(release) = &self.0.release {
            release.wait().await;
        }
    }

    /// The skills that are served now.
    #[must_use]
    pub fn tree(&self) -> Arc<SkillTree> {
        self.0.tree.load_full()
    }

    /// Serves another tree from now on, and returns the one before. Clients are notified that the list of resources has
    /// changed, and clients that have subscribed to a file are notified if its contents are others or gone. An equal
    /// tree changes nothing.
    pub fn replace(&self, tree: SkillTree) -> Arc<SkillTree> {
        let new = Arc::new(tree);
        let old = self.0.tree.swap(Arc::clone(&new));
        if let Some(sessions) = self.0.sessions.get().filter(|_| old != new) {
            sessions.resources_changed(Audience::Everyone);
            for uri in old.changed_in(&new) {
                sessions.resource_updated(uri);
            }
        }
        old
    }

    /// Notifies the clients of this server of changes, unless there is one already.
    pub(crate) fn notify(&self, sessions: &ServerHandle) {
        // A server in several protocols has the same sessions in all of them.
        let _ = self.0.sessions.set(sessions.clone());
    }

    /// The times for which answers may be cached.
    pub(crate) fn cache(&self) -> CacheHints {
        self.0.sessions.get().map(|sessions| sessions.stateless_info().cache).unwrap_or_default()
    }
}

impl From<SkillTree> for Skills {
    fn from(tree: SkillTree) -> Self {
        Self::new(tree)
    }
}

impl fmt::Debug for Skills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skills").field("skills", &self.tree().skills.len()).finish_non_exhaustive()
    }
}
