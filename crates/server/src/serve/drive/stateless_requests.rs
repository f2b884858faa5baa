//! The requests of the stateless revision on one connection that have no answer yet.

use std::pin::Pin;
use std::task::{Context as Wakes, Poll};

use futures_util::StreamExt;
use futures_util::stream::{FuturesUnordered, Stream, StreamFuture};

use crate::call::ended::Reserved;
use crate::serve::stateless::Replies;
use protomcp_session::RequestKey;

/// The open requests of one connection. They are polled together.
#[derive(Default)]
pub(super) struct StatelessRequests(
    /// `None` until the first one: an idle session holds no list.
    Option<FuturesUnordered<StreamFuture<Box<StatelessReplies>>>>,
);

/// One request, and its replies.
pub(super) struct StatelessReplies {
    pub(super) key: RequestKey,
    pub(super) replies: Replies,
}

impl Stream for StatelessReplies {
    type Item = Reserved;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Wakes<'_>) -> Poll<Option<Reserved>> {
        self.replies.poll_next(cx)
    }
}

impl StatelessRequests {
    /// Polls a request for its next reply.
    pub(super) fn push(&mut self, request: Box<StatelessReplies>) {
        self.0.get_or_insert_default().push(StreamExt::into_future(request));
    }

    /// The next reply to any of the requests, which is taken out of the list; `None`: the list is empty.
    pub(super) async fn next(&mut self) -> Option<(Option<Reserved>, Box<StatelessReplies>)> {
        self.0.as_mut()?.next().await
    }

    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, FuturesUnordered::len)
    }

    /// The client has cancelled a request.
    pub(super) fn cancel(&mut self, number: u64) {
        if let Some(request) = self.each().find(|request| request.key.number == number) {
            request.replies.cancel();
        }
    }

    /// Cancels the calls of all requests. Those that answer within their grace are answered.
    pub(super) fn interrupt(&mut self) {
        self.each().for_each(|request| request.replies.interrupt());
    }

    /// Drops all requests.
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    fn each(&mut self) -> impl Iterator<Item = &mut StatelessReplies> {
        self.0
            .iter_mut()
            .flat_map(FuturesUnordered::iter_mut)
            .filter_map(StreamFuture::get_mut)
            .map(|request| &mut **request)
    }
}
