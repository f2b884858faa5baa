//! The parts of a server that all its conversations share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use protomcp_server::LargeWork;

use crate::cursor::CursorKey;
use crate::rate_limit::RateLimiter;
use crate::schemas::ToolSchemas;
use crate::selection::PageLimits;
use crate::serve::log_frames::LogFrames;
use crate::session::config::SessionConfig;

/// The settings and the counters of a server.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) session: Arc<SessionConfig>,
    pub(super) schemas: Arc<dyn ToolSchemas>,
    pub(super) pages: PageLimits,
    pub(super) cursors: CursorKey,
    pub(super) rates: Option<Arc<Mutex<RateLimiter>>>,
    /// The MCP server says when its tools change, so that they need not be asked for again.
    pub(super) announces_tools: bool,
    pub(super) large_work: LargeWork,
    pub(super) logs: Arc<LogFrames>,
}

impl Shared {
    /// Counts a call.
    pub(super) fn check_rate(&self, now: Instant, caller: &str, tool: &str) -> Result<(), Duration> {
        let Some(rates) = &self.rates else { return Ok(()) };
        rates.lock().unwrap_or_else(PoisonError::into_inner).check(now, caller, tool)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("session", &self.session).finish_non_exhaustive()
    }
}
