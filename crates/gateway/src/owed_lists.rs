//! Lists of servers that clients were not shown. They are asked for in the background, and announced as changed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::failure::Why;
use crate::list::ListKind;
use crate::listing::listed_within;
use crate::reach::now;
use crate::upstream_session::UpstreamSession;

/// The pause before the first attempt; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Asks for a list in the background, for as long as an idle session is kept.
pub(crate) fn owe(upstream: &Arc<UpstreamSession>, kind: ListKind) {
    if upstream.known().owed.insert(kind) {
        tokio::spawn(complete(Arc::downgrade(upstream), kind));
    }
}

async fn complete(upstream: Weak<UpstreamSession>, kind: ListKind) {
    let (began, mut pause) = (now(), FIRST_PAUSE);
    loop {
        tokio::time::sleep(pause).await;
        let Some(upstream) = upstream.upgrade() else { return };
        let limits = upstream.environment.limits;
        let changes = upstream.newest().known().changes(kind);
        // A list of many pages may take longer than a client waits.
        let outcome = listed_within(&upstream, kind, limits.timeout.max(limits.list_timeout)).await;
        let is_gone = matches!(&outcome, Err(failure) if matches!(failure.why, Why::Gone));
        let is_over = is_gone || now().saturating_duration_since(began) >= limits.idle_timeout;
        let is_done = {
            let newest = upstream.newest();
            let mut known = newest.known();
            if outcome.is_ok() {
                known.keep_fresh(kind, now());
            }
            // A list that has changed since it was asked for is shown, and asked for again.
            let is_done = is_over || outcome.is_ok() && known.changes(kind) == changes;
            if is_done {
                known.owed.remove(&kind);
            }
            is_done
        };
        if outcome.is_ok() {
            upstream.environment.lists_changed(&upstream.audience());
        }
        if is_done {
            upstream.known().owed.remove(&kind);
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
