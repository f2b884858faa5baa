//! The progress of a connection's opening.
//!
//! ```text
//!   Auto, Stateless ─▶ Discovering ──result──────────────────────▶ Open (stateless)
//!                       │   ▲  │ −32022 that names a stateless revision, once
//!                       │   └──┘
//!                       │ any other refusal, or silence on a shared stream (Auto)
//!                       ▼
//!   Stateful(First) ▶ Initializing ──result with a known revision─▶ Open (stateful)
//!                       │    ▲                                       │
//!                       │    └──────────── session lost ─────────────┘
//!                       ▼ refused, or out of time
//!                    Closed
//!
//!   Initializing in place of a lost session ──failure that passes──▶ Initializing, after a pause and within its time
//!
//!   Initializing after silence ──−32022, once──▶ Discovering: the server was slow, and its era is the stateless one
//!   Initializing, StatefulFirst ──refused──▶ Discovering
//!
//!   each of them but Closed ──transport lost──▶ Suspended ──another transport──▶ Discovering or Initializing
//! ```

use std::sync::Arc;
use std::time::{Duration, Instant};

use protomcp_types::ProtocolVersion;

use crate::client::error::CloseReason;
use crate::client::server_view::ServerView;

/// The state of a connection.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// `server/discover` was sent.
    Discovering(Discovery),
    /// `initialize` was sent.
    Initializing(Handshake),
    /// Requests are sent.
    Open(Arc<ServerView>),
    /// The transport is lost and will be replaced. The revision before, if there was one.
    Suspended(Option<ProtocolVersion>),
    /// Nothing more happens.
    Closed(CloseReason),
}

/// A discovery without an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Discovery {
    pub(super) request: u64,
    pub(super) version: ProtocolVersion,
    /// It was refused once for its revision.
    pub(super) is_retry: bool,
    /// The end of the time for this request.
    pub(super) until: Instant,
    /// The end of the time for all of the opening.
    pub(super) open_until: Instant,
}

/// A handshake without an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handshake {
    pub(super) request: u64,
    pub(super) version: ProtocolVersion,
    /// Another revision was refused before.
    pub(super) is_retry: bool,
    /// The discovery before it, if that had no answer in time. The server may be slow rather than old.
    pub(super) silent: Option<Discovery>,
    /// It replaces a session that was lost.
    pub(super) reopening: Option<Reopening>,
    pub(super) until: Instant,
}

/// The attempts to replace a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reopening {
    pub(super) failures: u32,
    /// The last attempt has failed, and this is the time of the next.
    pub(super) retry: Option<Instant>,
}

impl Reopening {
    /// After a failure: the next attempt follows a pause that doubles.
    pub(super) fn next(self, now: Instant) -> Self {
        let pause = (FIRST_PAUSE * 2u32.pow(self.failures.min(8))).min(LONGEST_PAUSE);
        Self { failures: self.failures + 1, retry: Some(now + pause) }
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Phase {
    /// The end of the time for the request that opens the connection.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Discovering(discovery) => Some(discovery.until),
            Self::Initializing(handshake) => {
                let retry = handshake.reopening.and_then(|reopening| reopening.retry);
                Some(retry.unwrap_or(handshake.until))
            }
            Self::Open(_) | Self::Suspended(_) | Self::Closed(_) => None,
        }
    }

    /// The server, once the connection is open.
    pub(super) fn server(&self) -> Option<&Arc<ServerView>> {
        match self {
            Self::Open(server) => Some(server),
            Self::Discovering(_) | Self::Initializing(_) | Self::Suspended(_) | Self::Closed(_) => None,
        }
    }

    /// The id of the request that opens the connection.
    pub(super) fn request(&self) -> Option<u64> {
        match self {
            Self::Discovering(discovery) => Some(discovery.request),
            Self::Initializing(handshake) => Some(handshake.request),
            Self::Open(_) | Self::Suspended(_) | Self::Closed(_) => None,
        }
    }
}
