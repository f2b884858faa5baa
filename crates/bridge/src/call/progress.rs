//! The progress of a call or a task of the process, for its client.

use std::sync::Arc;

use protomcp_link::Progress as LinkProgress;
use protomcp_server::Context;
use protomcp_types::{Amount, Progress};

/// Receives each progress report.
pub(crate) type OnProgress = Arc<dyn Fn(LinkProgress) + Send + Sync>;

/// Progress is reported only if the client gave a token, or polls a task.
pub(crate) fn on_progress(context: &Context) -> Option<OnProgress> {
    if context.progress_token().is_none() && !context.can_be_task() {
        return None;
    }
    let context = context.clone();
    Some(Arc::new(move |progress| context.progress(&from_wire(progress))))
}

/// A total of 0 or less and an empty message mean that there is none (docs/envelope.md, "Progress").
fn from_wire(progress: LinkProgress) -> Progress {
    let LinkProgress { progress, total, message } = progress;
    Progress {
        progress: Amount::from(progress),
        total: (total > 0).then(|| Amount::from(total)),
        message: (!message.is_empty()).then_some(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_what_is_known_and_no_more() {
        for (total, message, notified) in [
            (0, "", Progress::new(3)),
            (-1, "", Progress::new(3)),
            (9, "a third", Progress::new(3).of(9).with_message("a third")),
        ] {
            assert_eq!(from_wire(LinkProgress { progress: 3, total, message: message.into() }), notified);
        }
    }
}
