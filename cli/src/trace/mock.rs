//! `pmcp mock`: a server without its tool.

use protomcp_trace::Mock;
use protomcp_transport::lines::Lines;
use protomcp_transport::{Sink, Source, Transport, stdio};
use protomcp_types::Message;

use crate::args::trace::MockOptions;
use crate::exit::Failure;
use crate::log;
use crate::recorder::value;
use crate::trace::parts::{message, messages, read};

/// Answers until the host closes its end.
pub(super) async fn mock(options: &MockOptions) -> Result<(), Failure> {
    // Before anything else can write to descriptor 1.
    let (reader, writer) =
        stdio::take().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(options.log_level, options.log);
    let mut mock = Mock::new(&read(&options.trace)?);
    if mock.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no request with an answer: record a conversation in which a host uses the tools",
            options.trace.display()
        )));
    }
    tracing::info!("answering {} recorded requests of {}", mock.len(), options.trace.display());
    let (mut source, mut sink) = Lines::new(reader, writer).split();
    loop {
        let received = tokio::select! {
            received = source.next() => received,
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        let answers = match received {
            Ok(Some(Ok(incoming))) => {
                messages(incoming).iter().flat_map(|message| mock.answer(&value(message))).collect()
            }
            Ok(Some(Err(malformed))) => vec![value(&Message::error(malformed.id, malformed.error))],
            Ok(None) | Err(_) => return Ok(()),
        };
        for answer in &answers {
            if let Some(error) = answer.get("error").filter(|_| answer.get("id").is_some()) {
                tracing::warn!("{}", error["message"].as_str().unwrap_or_default());
            }
            if sink.send(message(answer)?, None).is_err() {
                return Ok(());
            }
        }
        if sink.flush().await.is_err() {
            return Ok(());
        }
    }
}
