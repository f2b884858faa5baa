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
        let outcome = listed_within(&upstream, kind, limits.list_timeout).await;
        let is_over = match &outcome {
            Ok(_) => true,
            Err(failure) => matches!(failure.why, Why::Gone) || failure.refusal().is_some(),
        };
        if is_over || now().saturating_duration_since(began) >= limits.idle_timeout {
            // The next request for the list begins anew.
            upstream.known().owed.remove(&kind);
            if outcome.is_ok() {
                upstream.environment.lists_changed(&upstream.audience());
            }
            return;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
