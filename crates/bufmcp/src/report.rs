//! Reports of a call that runs.

use crate::frame::{FrameTooLarge, encode};
use crate::limits::FrameLimits;
use crate::message::mcp_message::Payload;
use crate::message::{CallLog, CallProgress, McpMessage};

/// A report of a call that runs, from the server to its client.
#[derive(Debug, Clone, PartialEq)]
pub enum CallReport {
    /// The progress of the call, which grows with each report.
    Progress(CallProgress),
    /// A log message of the call.
    Log(CallLog),
}

/// A report as a frame. A message in memory may take many times the bytes of its frame.
#[derive(Debug, Clone)]
pub(crate) struct ReportFrame {
    /// Of a report of progress.
    pub(crate) progress: Option<f64>,
    pub(crate) frame: Vec<u8>,
}

impl CallReport {
    /// The frame of this report on the call with this id.
    ///
    /// # Errors
    /// If it is too large.
    pub(crate) fn into_frame(self, id: u64, limits: &FrameLimits) -> Result<ReportFrame, FrameTooLarge> {
        let (progress, payload) = match self {
            Self::Progress(progress) => (Some(progress.progress), Payload::CallProgress(progress)),
            Self::Log(log) => (None, Payload::CallLog(log)),
        };
        let mut frame = Vec::new();
        encode(&McpMessage { id, payload: Some(payload) }, limits, &mut frame)?;
        Ok(ReportFrame { progress, frame })
    }
}
