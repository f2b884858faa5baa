//! systemd, or another manager of services that speaks its protocol: the states of the service that it is told
//! (sd_notify(3)).

use sd_notify::NotifyState;

/// Says that the service is ready, if a manager wants to know.
pub(super) fn ready() {
    tell(NotifyState::Ready);
}

/// Says that the service stops, if a manager wants to know.
pub(super) fn stopping() {
    tell(NotifyState::Stopping);
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("the manager of this service is not told about its state: {error}");
    }
}
