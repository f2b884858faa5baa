//! The definitions that a server knows without a list.

use std::fmt;
use std::sync::Arc;

use protomcp_types::RawJson;

/// Looks up the definition of a tool by its name.
#[derive(Clone)]
pub(crate) struct KnownDefinitions(pub(crate) Option<Arc<Lookup>>);

type Lookup = dyn Fn(&str) -> Option<RawJson> + Send + Sync;

impl KnownDefinitions {
    pub(super) fn find(&self, tool: &str) -> Option<RawJson> {
        self.0.as_ref()?(tool)
    }
}

impl fmt::Debug for KnownDefinitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KnownDefinitions").finish_non_exhaustive()
    }
}
