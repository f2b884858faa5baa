//! A connection inside one process: messages go over as values, nothing is serialized.

use std::collections::VecDeque;
use std::sync::Arc;

use protomcp_session::{CallerKey, Extensions};
use protomcp_types::{Incoming, Message, RequestId};
use tokio::sync::mpsc;

use crate::transport::{Received, Sink, Source, Transport, TransportError};

/// The number of messages on their way before [`Sink::flush`] waits.
const CAPACITY: usize = 64;

/// One end of a connection in memory. Dropping it closes the connection.
#[derive(Debug)]
pub struct Memory {
    source: MemorySource,
    sink: MemorySink,
}

/// The receiving half.
#[derive(Debug)]
pub struct MemorySource {
    channel: mpsc::Receiver<Passed>,
    /// The caller of the request that was returned last.
    caller: Option<Arc<CallerKey>>,
}

/// The sending half.
#[derive(Debug)]
pub struct MemorySink {
    channel: mpsc::Sender<Passed>,
    waiting: VecDeque<Passed>,
}

/// A message, and the caller that it is sent for.
type Passed = (Received, Option<Arc<CallerKey>>);

/// Two ends; what is sent into one comes out of the other.
#[must_use]
pub fn pair() -> (Memory, Memory) {
    let (left_out, right_in) = mpsc::channel(CAPACITY);
    let (right_out, left_in) = mpsc::channel(CAPACITY);
    let end = |source, channel| Memory {
        source: MemorySource { channel: source, caller: None },
        sink: MemorySink { channel, waiting: VecDeque::new() },
    };
    (end(left_in, left_out), end(right_in, right_out))
}

impl Transport for Memory {
    type Source = MemorySource;
    type Sink = MemorySink;

    fn split(self) -> (MemorySource, MemorySink) {
        (self.source, self.sink)
    }
}

impl Source for MemorySource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        let passed = self.channel.recv().await;
        Ok(passed.map(|(received, caller)| {
            self.caller = caller;
            received
        }))
    }

    fn extensions(&mut self) -> Extensions {
        self.caller.take().map_or_else(Extensions::default, |caller| Extensions::default().with(caller))
    }
}

impl MemorySink {
    /// Takes something that was received elsewhere, such as text that is not a message.
    pub fn forward(&mut self, received: Received) {
        self.waiting.push_back((received, None));
    }
}

impl Sink for MemorySink {
    fn send(&mut self, message: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        self.forward(Ok(Incoming::One(message)));
        Ok(())
    }

    fn send_for(&mut self, request: Message, caller: &Arc<CallerKey>) -> Result<(), TransportError> {
        self.waiting.push_back((Ok(Incoming::One(request)), Some(Arc::clone(caller))));
        Ok(())
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        self.forward(Ok(Incoming::Batch(messages.into_iter().map(Ok).collect())));
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        while !self.waiting.is_empty() {
            let permit = self.channel.reserve().await.map_err(|_| TransportError::Closed)?;
            if let Some(passed) = self.waiting.pop_front() {
                permit.send(passed);
            }
        }
        Ok(())
    }

    fn unwritten(&self) -> usize {
        self.waiting.len()
    }
}
