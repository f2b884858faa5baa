//! `pmcp replay`: sends what the trace says, and waits for what it expects.

use protomcp_trace::{Comparison, Difference, Recording, Replay, Step};
use protomcp_transport::{Sink, Source, Transport};
use protomcp_types::one_line;

use crate::args::trace::ReplayOptions;
use crate::exit::{self, Failure};
use crate::recorder::value;
use crate::trace::parts::{message, messages, process, read};
use crate::waiting;

/// Holds the conversations again, one after the other, and prints the differences.
pub(super) async fn replay(options: ReplayOptions) -> Result<(), Failure> {
    let recording = read(&options.trace)?;
    if options.log.is_quiet() {
        waiting::give_way();
    }
    let what = format!("replaying {}", options.trace.display());
    let (mut differences, mut count) = (Vec::new(), 0);
    for session in recording.sessions() {
        count += session.entries.len();
        differences.extend(waiting::shown(&what, hold(&session, &options)).await?);
    }
    differences.sort_by_key(|difference| difference.line);
    let lines: String =
        differences.iter().map(|difference| format!("{}\n", one_line(&difference.to_string()))).collect();
    exit::print(&exit::for_stdout(lines))?;
    match differences.len() {
        0 => exit::print(&format!("{count} messages, no difference\n")),
        1 => Err(Failure::failed(format!("1 difference from {}", options.trace.display()))),
        count => Err(Failure::failed(format!("{count} differences from {}", options.trace.display()))),
    }
}

/// Holds the conversation of one session with a server that is started for it.
async fn hold(session: &Recording, options: &ReplayOptions) -> Result<Vec<Difference>, Failure> {
    let ReplayOptions { target, strict, ignored, timeout, .. } = options;
    let comparison = if *strict { Comparison::Strict } else { Comparison::Shape };
    let mut replay = Replay::new(session, comparison, ignored.clone());
    let running = process(target.clone())?.spawn().await.map_err(|error| Failure::from(&error))?;
    let (mut source, mut sink) = running.split();
    loop {
        let failed = match replay.step() {
            Step::Send(next) => send(&mut sink, message(&next)?).await.err(),
            Step::Wait(_) => match tokio::time::timeout(*timeout, receive(&mut source, &mut replay)).await {
                Ok(received) => received.err(),
                Err(_) => Some(format!("it did not come within {timeout:?}")),
            },
            Step::Done => break,
        };
        if let Some(why) = failed {
            replay.give_up(&why);
            break;
        }
    }
    Ok(replay.into_differences())
}

async fn send(sink: &mut impl Sink, message: protomcp_types::Message) -> Result<(), String> {
    sink.send(message, None).map_err(|error| error.to_string())?;
    sink.flush().await.map_err(|error| error.to_string())
}

/// Waits for the next messages.
async fn receive(source: &mut impl Source, replay: &mut Replay) -> Result<(), String> {
    match source.next().await {
        Ok(Some(Ok(incoming))) => {
            messages(incoming).iter().for_each(|message| replay.receive(value(message)));
            Ok(())
        }
        Ok(Some(Err(malformed))) => {
            Err(format!("the server has sent text without a message: {}", malformed.error.message))
        }
        Ok(None) => Err("the server has ended".into()),
        Err(error) => Err(format!("the server has ended: {error}")),
    }
}
