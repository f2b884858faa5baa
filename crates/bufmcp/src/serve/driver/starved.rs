//! The events that would wait for the end of a flood of others.

use futures_util::FutureExt;
use protomcp_server::Service;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::unconstrained;

use crate::serve::driver::{Driver, Event};
use crate::serve::error::BinaryServeError;
use crate::stream::now;

impl<S: Service> Driver<S> {
    /// Polls everything that a flood of requests, answers or notices would delay.
    pub(super) fn poll_starved(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), BinaryServeError> {
        self.running.pass_reports(&mut self.session);
        self.pump();
        // The flood may have used up the steps that the runtime gives a task before it yields.
        if !self.outgoing.is_done()
            && let Some(written) = unconstrained(self.outgoing.write(writer)).now_or_never()
        {
            self.handle(Event::Written(written))?;
        }
        // Whole frames that have waited for room come first: at the end of the stream the rest is one that is cut off.
        if self.decode(now()) == 0
            && self.reads()
            && let Some(read) = unconstrained(self.incoming.read(reader)).now_or_never()
        {
            self.handle(Event::Read(read))?;
        }
        if self.takes_notices()
            && let Some(membership) = &mut self.membership
            && let Some(notice) = unconstrained(membership.next()).now_or_never()
        {
            self.handle(Event::Notice(notice))?;
        }
        if !self.is_shutting_down && self.server.handle().shutdown_token().is_cancelled() {
            self.handle(Event::Shutdown)?;
        }
        if self.deadline().is_some_and(|deadline| deadline <= now()) {
            self.handle(Event::Time)?;
        }
        Ok(())
    }
}
