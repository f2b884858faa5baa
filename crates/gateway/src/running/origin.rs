//! The caller of a call.

use protomcp_server::{Context, Owner, SessionId};

/// The caller of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) session: SessionId,
    pub(crate) owner: Owner,
}

impl Origin {
    pub(super) fn of(context: &Context) -> Self {
        Self { session: context.session(), owner: context.caller().owner.clone() }
    }

    /// True if the same client, or another one of the same user, is the other caller.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        self.owner == other.owner && (is_user(&self.owner) || self.session == other.session)
    }
}

/// True for an owner that is one user. Several people can have one address.
pub(crate) fn is_user(owner: &Owner) -> bool {
    matches!(owner, Owner::Local | Owner::Principal(_))
}
