//! The log of the streams of events of a session.

use protomcp_types::RequestId;

use crate::streams::stream_id::StreamId;

/// Notes each event when it gets its number, in the order of the numbers.
pub(crate) trait EventLog<M> {
    /// A response becomes a stream of events. These requests have no answer yet.
    fn opened<'a>(&mut self, stream: StreamId, requests: impl Iterator<Item = &'a RequestId>);

    /// A message is the event with this number.
    fn event(&mut self, stream: StreamId, number: u64, message: &mut M);

    /// The event with the number `last` was the last one.
    fn ended(&mut self, stream: StreamId, last: u64);

    /// Another process may serve the session: nothing is noted from here on.
    fn lost(&mut self) {}

    /// The session has ended.
    fn closed(&mut self);
}

/// Notes nothing.
#[cfg(test)]
impl<M> EventLog<M> for () {
    fn opened<'a>(&mut self, _: StreamId, _: impl Iterator<Item = &'a RequestId>) {}

    fn event(&mut self, _: StreamId, _: u64, _: &mut M) {}

    fn ended(&mut self, _: StreamId, _: u64) {}

    fn closed(&mut self) {}
}
