//! Standard error of a process, and its end in words.

use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_fair::{LeftOut, LogRate};
use protomcp_supervisor::{Event, Exit, StderrHandler};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It runs.
    No,
    /// It has ended; the text says how, with the last lines of its standard error.
    Yes(String),
}

/// Passes the lines of a process on until it has ended.
pub(crate) async fn read(
    name: String,
    handler: StderrHandler,
    mut events: mpsc::Receiver<Event>,
    ended: watch::Sender<Ended>,
) {
    while let Some(event) = events.recv().await {
        match event {
            Event::Line { text, .. } => handler.line(&text, |line| {
                tracing::info!(target: "protomcp_client::stderr", server = name, "{line}");
            }),
            Event::Exited(exit) => {
                ended.send_replace(Ended::Yes(in_words(&name, &exit)));
            }
            // The sink closes the input before it asks for the stop.
            Event::Started { .. } | Event::CloseLink => {}
        }
    }
}

/// The most lines of standard output in a second that are shown although they are not messages.
const MAX_STRAY: u32 = 20;

/// The handler of lines of standard output that are not messages. They are shown like lines of standard error, but for
/// those beyond [`MAX_STRAY`], whose number is.
pub(crate) fn stray(name: String, handler: StderrHandler) -> impl Fn(&str) + Send + Sync + 'static {
    let (is_known, rate) = (AtomicBool::new(false), LogRate::new(MAX_STRAY));
    move |line| {
        let Some(left_out) = rate.permit(Instant::now().into_std()) else { return };
        if !is_known.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                server = name,
                line,
                "the server prints text on standard output, where only messages belong"
            );
        }
        let show = |line: &str| tracing::info!(target: "protomcp_client::stderr", server = name, "{line}");
        if let LeftOut(Some(left_out)) = left_out {
            handler.line(&format!("({left_out} lines of standard output are left out)"), show);
        }
        handler.line(line, show);
    }
}

/// One line, or several if the process has written its reasons.
fn in_words(name: &str, exit: &Exit) -> String {
    let tail = exit.stderr_tail.join("\n");
    let start = tail.len().saturating_sub(MAX_TAIL);
    let start = (start..=tail.len()).find(|at| tail.is_char_boundary(*at)).unwrap_or(tail.len());
    match tail[start..].trim_end() {
        "" => format!("{name} {exit}"),
        tail => format!("{name} {exit}\n{tail}"),
    }
}

/// The bytes of standard error that an error quotes.
const MAX_TAIL: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use protomcp_supervisor::Status;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_that_are_not_messages_are_bounded() {
        let seen = std::sync::Arc::new(Mutex::new(Vec::new()));
        let noted = std::sync::Arc::clone(&seen);
        let handler = StderrHandler::new(move |line: &str| noted.lock().unwrap().push(line.to_owned()));
        let line = stray("server".to_owned(), handler);
        for number in 0..100_000 {
            line(&format!("junk {number}"));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        line("last");
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), MAX_STRAY as usize + 2);
        assert_eq!(seen[MAX_STRAY as usize..], ["(99980 lines of standard output are left out)", "last"]);
    }

    #[test]
    fn the_end_quotes_the_last_words() {
        let exit =
            |tail: &[String]| Exit { status: Status::Code(2), stderr_tail: tail.to_vec(), uptime: Duration::ZERO };
        assert_eq!(in_words("a", &exit(&[])), "a exited with status 2");
        assert_eq!(in_words("a", &exit(&["b".into(), "c".into()])), "a exited with status 2\nb\nc");
        let long = in_words("a", &exit(&["ü".repeat(MAX_TAIL)]));
        assert!(long.len() <= MAX_TAIL + 30, "{}", long.len());
    }
}
