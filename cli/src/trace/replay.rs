//! `pmcp replay`: sends what the trace says, and waits for what it expects.

use protomcp_trace::{Comparison, Replay, Step};
use protomcp_transport::{Sink, Source, Transport};

use crate::args::trace::ReplayOptions;
use crate::exit::{self, Failure};
use crate::trace::parts::{message, messages, process, read, value};

/// Holds the conversation again, and prints the differences.
pub(super) async fn replay(options: ReplayOptions) -> Result<(), Failure> {
    let ReplayOptions { trace, target, strict, ignored, timeout, .. } = options;
    let recording = read(&trace)?;
    let comparison = if strict { Comparison::Strict } else { Comparison::Shape };
    let mut replay = Replay::new(&recording, comparison, ignored);
    let running = process(target)?.spawn().await.map_err(|error| Failure::from(&error))?;
    let (mut source, mut sink) = running.split();
    loop {
        match replay.step() {
            Step::Send(next) => {
                let sent = send(&mut sink, message(&next)?).await;
                if let Err(why) = sent {
                    replay.give_up(&why);
                    break;
                }
            }
            Step::Wait(_) => match tokio::time::timeout(timeout, receive(&mut source, &mut replay)).await {
                Ok(Ok(())) => {}
                Ok(Err(why)) => {
                    replay.give_up(&why);
                    break;
                }
                Err(_) => {
                    replay.give_up(&format!("it did not come within {timeout:?}"));
                    break;
                }
            },
            Step::Done => break,
        }
    }
    drop((source, sink));
    let differences = replay.into_differences();
    let lines: String = differences.iter().map(|difference| format!("{difference}\n")).collect();
    exit::print(&exit::for_stdout(lines))?;
    match differences.len() {
        0 => exit::print(&format!("{} messages, no difference\n", recording.entries.len())),
        1 => Err(Failure::failed(format!("1 difference from {}", trace.display()))),
        count => Err(Failure::failed(format!("{count} differences from {}", trace.display()))),
    }
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
