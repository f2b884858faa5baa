//! Calls of the store within a time limit, over one connection that is made again when it has ended.
//!
//! ```text
//!  call ─▶ wait for a permit ─▶ wait for the connection ─▶ send ─▶ answer
//!                 │                    ▲                     │ ended, or the server is not ready
//!                 │                    └───── pause ◀────────┘
//!                 └─ the time is up, anywhere: `Unavailable`
//! ```
//!
//! A call that has no answer is repeated until its time is up: each call of a store may be received twice.
//!
//! A connection that has been silent for half of the time leads nowhere, and is made again. Callers may wait for less:
//! the time counts from the first call without an answer, of all callers ([`Silence`]).
//!
//! The `ConnectionManager` of the client crate keeps a handshake that has failed for another reason than I/O, such as a
//! certificate or a password, and does not ask sentinels.

use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use protomcp_fair::{LeftOut, LogRate};
use protomcp_server::StoreError;
use redis::{FromRedisValue, RedisResult, Value, from_redis_value_ref};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout_at};

use crate::connect_error::ConnectError;
use crate::link::Link;
use crate::script::{Call, Form, is_unknown, passing};
use crate::silence::Silence;
use crate::url::StoreUrl;

/// The most requests under way. Further ones wait, within their time.
const MAX_REQUESTS: usize = 1_024;

/// The pause before a call is repeated.
const RETRY: Duration = Duration::from_millis(50);

/// The longest pause before a connection is made again. The first one is [`RETRY`], and each is twice as long.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A connection that is being made, or is there.
type Connecting = Shared<BoxFuture<'static, RedisResult<Link>>>;

/// The connection to a store.
pub(crate) struct Connection {
    url: StoreUrl,
    limit: Duration,
    runtime: Handle,
    requests: Semaphore,
    refusals: LogRate,
    /// The calls without an answer in their time, and the ones that the server has refused.
    failures: AtomicU64,
    state: Mutex<State>,
}

struct State {
    /// Counts the connections.
    number: u64,
    link: Option<Connecting>,
    /// The connections that have ended since the last answer.
    failures: u32,
    /// The reason for which the last call had no answer; `None`: it had one.
    failure: Option<ConnectError>,
    /// A call had no answer in its time.
    is_away: bool,
    silence: Silence,
}

/// A call that has no answer yet. It may be dropped at any time.
struct Sent<'a> {
    connection: &'a Connection,
    /// Of the connection that it was sent on.
    number: u64,
    has_answer: bool,
}

impl Connection {
    /// Connects to a store. Each request has this time.
    pub(crate) async fn new(url: StoreUrl, limit: Duration) -> Result<Self, ConnectError> {
        let mut link = Link::connect(&url, limit).await.map_err(|error| ConnectError::of(&url, &error, limit))?;
        let answered = timeout_at(Instant::now() + limit, link.send(&[ping()], Form::Digest)).await;
        match answered {
            Ok(Ok(answers)) => is_usable(&url, &answers)?,
            Ok(Err(error)) => return Err(ConnectError::of(&url, &error, limit)),
            Err(_) => return Err(ConnectError::silent(&url, limit)),
        }
        let link: Connecting = ready(Ok(link)).boxed().shared();
        let silence = Silence::default();
        let state = State { number: 1, link: Some(link), failures: 0, failure: None, is_away: false, silence };
        Ok(Self {
            url,
            limit,
            runtime: Handle::current(),
            requests: Semaphore::new(MAX_REQUESTS),
            refusals: LogRate::default(),
            failures: AtomicU64::new(0),
            state: Mutex::new(state),
        })
    }

    /// The time at which a request that begins now has to be answered.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.limit
    }

    /// The servers of the store.
    pub(crate) fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// The time of a request.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// The runtime of the connection.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The answer to a call, which may be an error of the server.
    pub(crate) async fn call(&self, call: Call, deadline: Instant) -> Result<Value, StoreError> {
        let answers = self.calls(&[call], deadline).await?;
        answers.into_iter().next().ok_or(StoreError::Unavailable)
    }

    /// The answer to a call, as it is meant.
    pub(crate) async fn query<T: FromRedisValue>(&self, call: Call, deadline: Instant) -> Result<T, StoreError> {
        let answer = self.call(call, deadline).await?;
        self.read(&answer)
    }

    /// Reads an answer.
    pub(crate) fn read<T: FromRedisValue>(&self, answer: &Value) -> Result<T, StoreError> {
        from_redis_value_ref(answer).map_err(|_| self.refused(answer))
    }

    /// The answers to calls whose keys are in one slot, in their order; each may be an error of the server.
    pub(crate) async fn calls(&self, calls: &[Call], deadline: Instant) -> Result<Vec<Value>, StoreError> {
        let unanswered = Unanswered(&self.failures);
        if let Ok(answers) = timeout_at(deadline, self.attempts(calls)).await {
            std::mem::forget(unanswered);
            self.answered();
            return Ok(answers);
        }
        self.unanswered();
        Err(StoreError::Unavailable)
    }

    /// The calls that have failed.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Succeeds if the store answers now.
    pub(crate) async fn health(&self) -> Result<(), ConnectError> {
        let silent = || ConnectError::silent(&self.url, self.limit);
        match self.calls(&[ping()], self.deadline()).await {
            Ok(answers) => is_usable(&self.url, &answers),
            Err(_) => Err(self.state().failure.clone().unwrap_or_else(silent)),
        }
    }

    /// Reports an answer that is an error: the store is there, and cannot be used. A line a second, as clients may
    /// cause each of them.
    fn refused(&self, answer: &Value) -> StoreError {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let Some(LeftOut(left_out)) = self.refusals.permit(Instant::now().into_std()) else {
            return StoreError::Unavailable;
        };
        match answer {
            Value::ServerError(error) => {
                let error = ConnectError::of_answer(&self.url, error);
                tracing::warn!(%error, left_out, "a request to the store has failed");
            }
            _ => {
                let url = &self.url;
                tracing::warn!(%url, left_out, "the store has sent an answer of another kind than its script has");
            }
        }
        StoreError::Unavailable
    }

    async fn attempts(&self, calls: &[Call]) -> Vec<Value> {
        let _permit = self.requests.acquire().await.expect("it is never closed");
        let mut form = Form::Digest;
        loop {
            let (number, connecting) = self.connecting();
            let failure = match connecting.await {
                Ok(mut link) => {
                    let sent = self.sent(number);
                    let answers = link.send(calls, form).await;
                    sent.answered();
                    match answers {
                        Ok(answers) if form == Form::Digest && answers.iter().any(is_unknown) => {
                            form = Form::Text;
                            continue;
                        }
                        Ok(answers) => {
                            let failure = answers.iter().find_map(passing);
                            match failure.map(|error| ConnectError::of_answer(&self.url, error)) {
                                Some(failure) => failure,
                                None => return answers,
                            }
                        }
                        Err(error) => ConnectError::of(&self.url, &error, self.limit),
                    }
                }
                Err(error) => ConnectError::of(&self.url, &error, self.limit),
            };
            self.failed(number, failure);
            sleep(RETRY).await;
        }
    }

    /// The connection, which may have to be made. Its making goes on when its first user has gone.
    fn connecting(&self) -> (u64, Connecting) {
        let mut state = self.state();
        if let Some(link) = &state.link {
            return (state.number, link.clone());
        }
        let (url, limit, pause) = (self.url.clone(), self.limit, pause(state.failures));
        let link = async move {
            sleep(pause).await;
            Link::connect(&url, limit).await
        };
        let link = link.boxed().shared();
        self.runtime.spawn(link.clone());
        state.number += 1;
        state.silence = Silence::default();
        state.link = Some(link.clone());
        (state.number, link)
    }

    /// A connection has ended, or leads to a server that is not the right one.
    fn failed(&self, number: u64, failure: ConnectError) {
        let mut state = self.state();
        if state.number == number && state.link.take().is_some() {
            state.failures = state.failures.saturating_add(1);
        }
        state.failure = Some(failure);
    }

    fn answered(&self) {
        let was_away = {
            let mut state = self.state();
            (state.failures, state.failure) = (0, None);
            std::mem::take(&mut state.is_away)
        };
        if was_away {
            tracing::info!(url = %self.url, "the store answers again");
        }
    }

    /// A call is sent on this connection.
    fn sent(&self, number: u64) -> Sent<'_> {
        let mut state = self.state();
        if state.number == number {
            state.silence.sent(Instant::now());
        }
        Sent { connection: self, number, has_answer: false }
    }

    /// The time of a call is up.
    fn unanswered(&self) {
        let error = {
            let mut state = self.state();
            if std::mem::replace(&mut state.is_away, true) {
                return;
            }
            state.failure.clone()
        };
        match error {
            Some(error) => tracing::warn!(%error, "the store does not answer"),
            None => tracing::warn!(url = %self.url, "the store does not answer: too many requests are under way"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call without an answer, which its caller may give up: it counts when it is dropped.
struct Unanswered<'a>(&'a AtomicU64);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Sent<'_> {
    /// The connection has answered, or has ended.
    fn answered(mut self) {
        self.has_answer = true;
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        let Self { connection, number, has_answer } = self;
        let mut state = connection.state();
        if state.number != *number {
            return;
        }
        if *has_answer {
            state.silence.answered(Instant::now());
        } else if state.silence.dropped(Instant::now(), connection.limit / 2) {
            state.link = None;
            state.failure = Some(ConnectError::silent(&connection.url, connection.limit));
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("url", &self.url).field("limit", &self.limit).finish_non_exhaustive()
    }
}

fn ping() -> Call {
    Call::Command(redis::cmd("PING"))
}

fn is_usable(url: &StoreUrl, answers: &[Value]) -> Result<(), ConnectError> {
    match answers {
        [Value::ServerError(error), ..] => Err(ConnectError::of_answer(url, error)),
        _ => Ok(()),
    }
}

/// The pause before a connection is made after this many have failed.
pub(crate) fn pause(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        Some(earlier) => RETRY.saturating_mul(1 << earlier.min(10)).min(MAX_PAUSE),
        None => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_made_again_after_growing_pauses() {
        let pauses = [0, 1, 2, 3, 5, 6, 7, u32::MAX].map(|failures| pause(failures).as_millis());
        assert_eq!(pauses, [0, 50, 100, 200, 800, 1_000, 1_000, 1_000]);
    }
}
