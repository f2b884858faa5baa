//! The state outside the core that it looks up while it handles an input.

use protomcp_server::SessionId;

use crate::generation::Generation;
use crate::process::sdk::SdkFeatures;

/// The present state of processes and their calls.
pub(crate) trait Facts {
    /// The announced features of a process; `None` if it is not in service.
    fn features(&self, generation: Generation) -> Option<SdkFeatures>;

    /// True if no call is in flight on this process. Final once calls go to another one.
    fn is_idle(&self, generation: Generation) -> bool;

    /// A handler of this process may be running.
    fn is_busy(&self, generation: Generation) -> bool;

    /// True if two threads of this process read its socket now; see `compat::socket_readers`.
    fn has_two_readers(&self, generation: Generation) -> bool;

    /// The session whose list is changed by a message for this call, or for no call; `None` for the list of all.
    fn list_scope(&self, generation: Generation, for_call: &str) -> Option<SessionId>;

    /// False for a session that has ended, perhaps before the core: what is kept for it would stay.
    fn is_open(&self, session: SessionId) -> bool;
}
