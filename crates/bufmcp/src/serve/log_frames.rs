//! The last log message that belongs to no call, as a frame: each conversation that wants it sends the same one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use protomcp_types::{Level, RawJson};

use crate::convert::reports::log_to_proto;
use crate::frame::FrameTooLarge;
use crate::limits::FrameLimits;
use crate::report::{CallReport, ReportFrame};

/// The largest frame that is kept for other conversations.
const MAX_KEPT: usize = 1 << 20;

/// Makes frames of the log messages of a server, each once for all conversations.
#[derive(Debug, Default)]
pub(super) struct LogFrames(Mutex<Option<Arc<Last>>>);

#[derive(Debug)]
struct Last {
    level: Level,
    logger: Option<String>,
    /// The messages of one broadcast share these bytes.
    data: RawJson,
    /// Only conversations that want this message wait until it is made.
    frame: OnceLock<Result<ReportFrame, FrameTooLarge>>,
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
        let last = self.last(level, logger, data);
        let frame = last.frame.get_or_init(make).clone();
        if !frame.as_ref().is_ok_and(|frame| frame.frame.len() <= MAX_KEPT) {
            self.forget(&last);
        }
        frame
    }

    /// The last message if it is this one. Otherwise this one takes its place.
    fn last(&self, level: Level, logger: Option<&str>, data: &RawJson) -> Arc<Last> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.is(level, logger, data)) {
            return Arc::clone(last);
        }
        let logger = logger.map(str::to_owned);
        let new = Arc::new(Last { level, logger, data: data.clone(), frame: OnceLock::new() });
        *last = Some(Arc::clone(&new));
        new
    }

    /// Keeps this message no longer.
    fn forget(&self, message: &Arc<Last>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|last| Arc::ptr_eq(last, message)) {
            *last = None;
        }
    }
}

impl Last {
    fn is(&self, level: Level, logger: Option<&str>, data: &RawJson) -> bool {
        (self.level, self.logger.as_deref()) == (level, logger) && std::ptr::eq(self.data.as_str(), data.as_str())
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
    fn a_message_that_is_being_made_delays_no_other() {
        let frames = LogFrames::default();
        let (slow, quick) = (RawJson::text("slow"), RawJson::text("quick"));
        let frame = |byte| Ok(ReportFrame { progress: None, frame: vec![byte] });
        let made = std::thread::scope(|scope| {
            let (begun, has_begun) = std::sync::mpsc::channel();
            let (end, ends) = std::sync::mpsc::channel();
            let (frames, slow) = (&frames, &slow);
            let making = scope.spawn(move || {
                frames.kept_or(Level::Info, None, slow, || {
                    begun.send(()).unwrap();
                    ends.recv().unwrap();
                    frame(1)
                })
            });
            has_begun.recv().unwrap();
            // One that waits for the lock of the other's conversion would never return.
            let (done, is_done) = std::sync::mpsc::channel();
            let quick = &quick;
            let other = scope.spawn(move || done.send(frames.kept_or(Level::Info, None, quick, || frame(2))).unwrap());
            let other_made = is_done.recv_timeout(std::time::Duration::from_secs(10));
            end.send(()).unwrap();
            other.join().unwrap();
            (making.join().unwrap().unwrap().frame, other_made.expect("it waits").unwrap().frame)
        });
        assert_eq!(made, (vec![1], vec![2]));
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
