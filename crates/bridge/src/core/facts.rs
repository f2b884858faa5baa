//! The state outside the core that it looks up while it handles an input.

use protomcp_server::SessionId;

use crate::generation::Generation;
use crate::process::sdk::SdkFeatures;

/// Processes and their calls, as they are now.
pub(crate) trait Facts {
    /// The announced features of a process; `None` for one that is not in service.
    fn features(&self, generation: Generation) -> Option<SdkFeatures>;

    /// No call is in flight on this process. Final once calls go elsewhere.
    fn is_idle(&self, generation: Generation) -> bool;

    /// A handler of this process may be running.
    fn is_busy(&self, generation: Generation) -> bool;

    /// Two threads of this process read its socket now; see `compat::socket_readers`.
    fn has_two_readers(&self, generation: Generation) -> bool;

    /// The session whose tool list a process changes that names this call, or none; `None` for the list of all.
    fn list_scope(&self, generation: Generation, for_call: &str) -> Option<SessionId>;
}
