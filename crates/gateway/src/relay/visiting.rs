//! Calls of clients without a session whose server first wants the user to visit web pages. MCP 2026-07-28 has no error
//! for that: the client is asked to send its user there, and the request is sent again.

use std::collections::HashSet;
use std::time::Duration;

use protomcp_client::RequestError;
use protomcp_server::Context;
use protomcp_types::{ElicitAction, ElicitResult, ErrorObject, JsonObject};

use crate::failure::{Failure, Why};
use crate::inner::Inner;
use crate::questions;
use crate::reach::now;
use crate::upstream_session::UpstreamSession;
use crate::web_pages;

/// The times that a client is asked in one request.
const MAX_ROUNDS: u32 = 8;
/// The pause before a request is sent again although its user has not finished at a page, as far as the server has told.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest one; each doubles the one before it.
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// The pages that the user of a request has agreed to visit.
#[derive(Debug)]
pub(super) struct Visits {
    agreed: HashSet<String>,
    rounds: u32,
    pause: Duration,
    began: std::time::Instant,
}

impl Visits {
    pub(super) fn new() -> Self {
        Self { agreed: HashSet::new(), rounds: 0, pause: FIRST_PAUSE, began: now() }
    }

    /// Asks for visits of new pages, or waits until the user is done with those that are known. Returns when the request
    /// can be sent again.
    ///
    /// # Errors
    /// The failure of the request: the user has declined, takes too long, or cannot be sent there.
    pub(super) async fn make(
        &mut self,
        this: &Inner,
        upstream: &UpstreamSession,
        context: &Context,
        pages: Vec<(String, JsonObject)>,
    ) -> Result<(), Failure> {
        let failed = |error| upstream.reach.failure(Why::Request(error));
        if pages.is_empty() {
            return Err(failed(RequestError::InvalidAnswer("it asks for visits of web pages and names none".into())));
        }
        let new: Vec<_> = pages.into_iter().filter(|(id, _)| !self.agreed.contains(id)).collect();
        if new.is_empty() {
            return self.wait(this, upstream, context).await;
        }
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(failed(RequestError::TooManyRounds(MAX_ROUNDS)));
        }
        let (ids, pages): (Vec<_>, Vec<_>) = new.into_iter().unzip();
        let question = |(number, page)| web_pages::question(format!("page-{}-{number}", self.rounds), page);
        let asked = pages.into_iter().enumerate().map(question).collect();
        let answers = questions::ask_all(upstream.place(), context, asked);
        let answers = answers.await.map_err(|error| failed(RequestError::Refused(error.into())))?;
        let agrees = answers.values().all(|answer| {
            answer.to::<ElicitResult>().is_ok_and(|answer| matches!(answer.action, ElicitAction::Accept))
        });
        if !agrees {
            let error = ErrorObject::internal("the user does not visit the page that the server asks for");
            return Err(failed(RequestError::NoInput(error)));
        }
        self.agreed.extend(ids);
        (self.pause, self.began) = (FIRST_PAUSE, now());
        Ok(())
    }

    /// The server does not have to tell when the user is done, so it is asked again as well.
    async fn wait(&mut self, this: &Inner, upstream: &UpstreamSession, context: &Context) -> Result<(), Failure> {
        let limit = this.environment.limits.timeout;
        if now().saturating_duration_since(self.began) >= limit {
            let why = format!("the user has not finished at the page of the server within {limit:?}");
            let error = RequestError::NoInput(ErrorObject::internal(why));
            return Err(upstream.reach.failure(Why::Request(error)));
        }
        tokio::select! {
            () = upstream.pages().next_done() => {}
            () = tokio::time::sleep(self.pause) => self.pause = (self.pause * 2).min(LONGEST_PAUSE),
            () = context.cancelled() => return Err(upstream.reach.failure(Why::Gone)),
        }
        Ok(())
    }
}
