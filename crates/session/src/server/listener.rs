//! The listening requests of one connection.

use crate::list_changed::List;
use crate::pending::RequestKey;

/// The listening requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Listeners(pub(super) Vec<Listener>);

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) key: RequestKey,
    /// True for each list whose changes it is notified of.
    pub(super) lists: [bool; List::ALL.len()],
    /// True once it has begun to listen.
    pub(super) is_listening: bool,
}
