//! The worker that the calls of a session go to.

/// The way in which calls find one of several tool processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkerAffinity {
    /// A session stays with one process, so that state in the process and a list that tools change keep working.
    /// Requests without a session (MCP 2026-07-28) stay with a process by their owner: the principal, or the address.
    #[default]
    Session,
    /// Each call goes to the process with the fewest calls. The list comes from the first process, and tools change it
    /// for no session.
    None,
}
