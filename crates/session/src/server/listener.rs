//! The listening requests of one connection.

use crate::list_changed::List;
use crate::pending::RequestKey;

/// The listening requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Listeners(pub(super) Vec<Listener>);

#[derive(Debug)]
pub(super) struct Listener {
    pub(super) key: RequestKey,
    /// The lists it hears of.
    pub(super) lists: [bool; List::ALL.len()],
    /// True once it has begun to listen.
    pub(super) is_told: bool,
}
