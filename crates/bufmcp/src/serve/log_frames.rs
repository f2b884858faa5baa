//! The last log message that belongs to no call, as a frame: each conversation that wants it sends the same one.

use std::sync::{Mutex, PoisonError};

use protomcp_types::{Level, RawJson};

use crate::convert::reports::log_to_proto;
use crate::frame::FrameTooLarge;
use crate::limits::FrameLimits;
use crate::report::{CallReport, ReportFrame};

/// The largest frame that is kept for other conversations.
const MAX_KEPT: usize = 1 << 20;

/// Makes frames of the log messages of a server, each once for all conversations.
#[derive(Debug, Default)]
pub(super) struct LogFrames(Mutex<Option<Last>>);

#[derive(Debug)]
struct Last {
    level: Level,
    logger: Option<String>,
    /// The messages of one broadcast share these bytes.
    data: RawJson,
    frame: ReportFrame,
}

impl LogFrames {
    /// The frame of a log message.
    ///
    /// # Errors
    /// If it is too large.
    pub(super) fn frame(
        &self,
        level: Level,
        logger: Option<&str>,
        data: &RawJson,
        limits: &FrameLimits,
    ) -> Result<ReportFrame, FrameTooLarge> {
        self.kept_or(level, logger, data, || CallReport::Log(log_to_proto(level, logger, data)).into_frame(0, limits))
    }

    fn kept_or(
        &self,
        level: Level,
        logger: Option<&str>,
        data: &RawJson,
        make: impl FnOnce() -> Result<ReportFrame, FrameTooLarge>,
    ) -> Result<ReportFrame, FrameTooLarge> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && (last.level, last.logger.as_deref()) == (level, logger)
            && std::ptr::eq(last.data.as_str(), data.as_str())
        {
            return Ok(last.frame.clone());
        }
        let frame = make()?;
        *last = (frame.frame.len() <= MAX_KEPT).then(|| Last {
            level,
            logger: logger.map(str::to_owned),
            data: data.clone(),
            frame: frame.clone(),
        });
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_for_many_conversations_is_made_once() {
        let frames = LogFrames::default();
        let mut made = 0;
        let mut make = |level, logger, data: &RawJson, bytes: usize| {
            let frame = frames.kept_or(level, logger, data, || {
                made += 1;
                Ok(ReportFrame { progress: None, frame: vec![0; bytes] })
            });
            assert_eq!(frame.unwrap().frame.len(), bytes);
            made
        };
        let data = RawJson::parse(r#"{"a":[1,2,3]}"#).unwrap();
        let equal = RawJson::parse(data.as_str().to_owned()).unwrap();
        for (level, logger, data, bytes, expected) in [
            (Level::Info, None, data.clone(), 5, 1),
            (Level::Info, None, data.clone(), 5, 1),
            (Level::Error, None, data.clone(), 6, 2),
            (Level::Error, Some("l"), data.clone(), 7, 3),
            // Another message that says the same.
            (Level::Error, Some("l"), equal, 8, 4),
            (Level::Error, None, data.clone(), MAX_KEPT + 1, 5),
            (Level::Error, None, data, MAX_KEPT + 1, 6),
        ] {
            assert_eq!(make(level, logger, &data, bytes), expected);
        }
    }

    #[test]
    fn a_frame_has_the_message() {
        let (frames, limits) = (LogFrames::default(), FrameLimits::default());
        let data = RawJson::text("said");
        let made = frames.frame(Level::Info, Some("l"), &data, &limits).unwrap();
        let expected = CallReport::Log(log_to_proto(Level::Info, Some("l"), &data)).into_frame(0, &limits).unwrap();
        assert_eq!((made.frame, made.progress), (expected.frame, None));
    }
}
