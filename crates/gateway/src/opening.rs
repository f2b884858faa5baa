//! One attempt to open a session with a server.

use std::error::Error;

use protomcp_client::{Client, ClientSession, CloseReason, Mode, NoAnswer, OpenError};

use crate::era::Era;
use crate::health::Cause;
use crate::upstream::Upstream;

/// The reason why a session is not open.
#[derive(Debug)]
pub(crate) struct OpenFailure {
    pub(crate) kind: FailureKind,
    pub(crate) cause: Cause,
}

/// The sessions that a failure to open one concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// All: the server cannot be reached.
    Unreachable,
    /// This one: the server, or its proxy, has refused it.
    Refused,
    /// This one, if its client is the reason; all, if the gateway has opened it for itself. The server has ended, or has
    /// not answered in time.
    Unclear,
}

/// Opens a session: in `era`, if the server has it and is not limited to the other.
pub(crate) async fn open(upstream: &Upstream, client: &Client, era: Era) -> Result<ClientSession, OpenFailure> {
    let eras = era.first(upstream.eras());
    match connect(upstream, &client.clone().mode(eras)).await? {
        Ok(session) => Ok(session),
        // Some servers end at a request that they do not know.
        Err(CloseReason::ByServer(_)) if matches!(eras, Mode::Auto | Mode::StatefulFirst) => {
            let rest = if eras == Mode::Auto { Mode::Stateful } else { Mode::Stateless };
            connect(upstream, &client.clone().mode(rest)).await?.map_err(|reason| OpenFailure::of(&reason, upstream))
        }
        Err(reason) => Err(OpenFailure::of(&reason, upstream)),
    }
}

/// Like [`open`], with the next version of a server whose `present` one has this era. As that is known, it is started once,
/// whatever happens: a version that ends at its start would end a second time.
pub(crate) async fn open_next(
    upstream: &Upstream,
    client: &Client,
    era: Era,
    present: Era,
) -> Result<ClientSession, OpenFailure> {
    let first = era.first(upstream.eras());
    let eras = match (present, first) {
        (Era::Stateful, Mode::Auto | Mode::StatefulFirst) => Mode::Stateful,
        _ => first,
    };
    match connect(upstream, &client.clone().mode(eras)).await? {
        Ok(session) => Ok(session),
        Err(CloseReason::NotOpened(_)) if eras != first => open(upstream, client, era).await,
        Err(reason) => Err(OpenFailure::of(&reason, upstream)),
    }
}

async fn connect(upstream: &Upstream, client: &Client) -> Result<Result<ClientSession, CloseReason>, OpenFailure> {
    let transport = upstream
        .connect()
        .await
        .map_err(|error| OpenFailure { kind: FailureKind::Unreachable, cause: describe(&*error).as_str().into() })?;
    Ok(client.connect(transport).await)
}

impl OpenFailure {
    fn of(reason: &CloseReason, upstream: &Upstream) -> Self {
        let kind = match reason {
            CloseReason::NotOpened(OpenError::Unanswered { why: NoAnswer::NotSent | NoAnswer::Connection, .. }) => {
                FailureKind::Unreachable
            }
            CloseReason::NotOpened(OpenError::Unanswered { .. } | OpenError::Refused(_)) => FailureKind::Refused,
            _ => FailureKind::Unclear,
        };
        let logged = match reason {
            // The first line says how the process has ended, the others are its standard error.
            CloseReason::ByServer(Some(words)) if upstream.has_logged_output() => {
                CloseReason::ByServer(words.lines().next().map(str::to_owned)).to_string().into()
            }
            _ => reason.to_string().into(),
        };
        let shown = match reason {
            // The last words of a process are its standard error.
            CloseReason::ByServer(_) => CloseReason::ByServer(None).to_string().into(),
            _ => std::sync::Arc::clone(&logged),
        };
        let logged = match upstream.hint(&logged) {
            Some(hint) => format!("{logged}; {hint}").into(),
            None => logged,
        };
        Self { kind, cause: Cause { shown, logged } }
    }
}

fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_server_concerns_all_sessions_its_output_none() {
        let unanswered = |why| {
            let error = protomcp_types::ErrorObject::internal("no");
            CloseReason::NotOpened(OpenError::Unanswered { why, error })
        };
        let upstream = Upstream::new("a", || async { Err("not called".into()) });
        for (reason, kind) in [
            (unanswered(NoAnswer::NotSent), FailureKind::Unreachable),
            (unanswered(NoAnswer::Connection), FailureKind::Unreachable),
            (unanswered(NoAnswer::Unauthorized), FailureKind::Refused),
            (unanswered(NoAnswer::Status(503)), FailureKind::Refused),
            (CloseReason::ByServer(Some("its output".into())), FailureKind::Unclear),
            (CloseReason::Unresponsive, FailureKind::Unclear),
        ] {
            let failure = OpenFailure::of(&reason, &upstream);
            assert_eq!(failure.kind, kind, "{reason:?}");
            assert!(!failure.cause.shown.contains("output"), "{failure:?}");
            assert_eq!(failure.cause.logged.as_ref(), reason.to_string());
        }
    }

    #[test]
    fn output_that_the_log_has_is_not_repeated() {
        let upstream = Upstream::new("a", || async { Err("not called".into()) });
        let reason = CloseReason::ByServer(Some("a exited with status 1\nTraceback\nKeyError: 42".into()));
        let hinted =
            upstream.clone().explain_failures(|reason| reason.contains("status 1").then(|| "see a".to_owned()));
        for (upstream, logged) in [
            (hinted, "the server closed the connection: a exited with status 1\nTraceback\nKeyError: 42; see a"),
            (upstream.clone(), "the server closed the connection: a exited with status 1\nTraceback\nKeyError: 42"),
            (upstream.with_logged_output(), "the server closed the connection: a exited with status 1"),
        ] {
            assert_eq!(OpenFailure::of(&reason, &upstream).cause.logged.as_ref(), logged);
        }
    }
}
