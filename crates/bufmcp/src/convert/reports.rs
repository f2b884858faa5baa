//! Progress and log messages, both ways.

use protomcp_types::{Amount, Level, Params, Progress, RawJson};

use crate::limits::FrameLimits;
use crate::message::{CallLog, CallProgress, LogLevel};
use crate::well_known;

/// Progress as a message; `None` if it is not a finite number.
pub(crate) fn progress_to_proto(progress: &Progress) -> Option<CallProgress> {
    let number = |amount: Amount| match amount {
        Amount::Integer(number) => Some(number as f64),
        Amount::Real(number) => Some(number).filter(|number| number.is_finite()),
    };
    Some(CallProgress {
        progress: number(progress.progress)?,
        total: progress.total.and_then(number).unwrap_or_default(),
        message: progress.message.clone().unwrap_or_default(),
    })
}

/// Progress of a message. Whole numbers are integers again.
pub(crate) fn progress_from_proto(report: CallProgress) -> Progress {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let amount = |number: f64| {
        let is_whole = number.fract() == 0.0 && number.abs() <= MAX_WHOLE;
        if is_whole { Amount::Integer(number as i64) } else { Amount::Real(number) }
    };
    Progress {
        progress: amount(report.progress),
        total: (report.total != 0.0).then(|| amount(report.total)),
        message: (!report.message.is_empty()).then_some(report.message),
    }
}

/// A log message. Data that nests too deeply for a decoder, or has too many values for it, becomes text.
pub(crate) fn log_to_proto(level: Level, logger: Option<&str>, data: &RawJson) -> CallLog {
    let data = well_known::to_value(data, MAX_LOG_ENTRIES).unwrap_or_else(|_| data.as_str().to_owned().into());
    CallLog { level: level_to_proto(level) as i32, logger: logger.unwrap_or_default().to_owned(), data: Some(data) }
}

/// The level, the logger and the data of a log message. A level that is not known is `info`; data that JSON cannot say
/// becomes the reason.
pub(crate) fn log_from_proto(log: CallLog) -> (Level, Option<String>, RawJson) {
    let level = level_from_proto(log.level).unwrap_or(Level::Info);
    let data = log.data.map_or(Ok(RawJson::NULL), |data| well_known::value_to_json(&data));
    let data = data.unwrap_or_else(|why| RawJson::text(&why.to_string()));
    (level, (!log.logger.is_empty()).then_some(log.logger), data)
}

/// The level, the logger and the data of a log message of MCP; `None` if it has no level or no data.
pub(crate) fn log_of(params: &Params) -> Option<(Level, Option<String>, &RawJson)> {
    let text = |name: &str| params.member(name).and_then(|raw| raw.to::<String>().ok());
    Some((Level::parse(&text("level")?)?, text("logger"), params.member("data")?))
}

/// The levels of MCP and of proto-mcp.
const LEVELS: [(Level, LogLevel); 8] = [
    (Level::Debug, LogLevel::Debug),
    (Level::Info, LogLevel::Info),
    (Level::Notice, LogLevel::Notice),
    (Level::Warning, LogLevel::Warning),
    (Level::Error, LogLevel::Error),
    (Level::Critical, LogLevel::Critical),
    (Level::Alert, LogLevel::Alert),
    (Level::Emergency, LogLevel::Emergency),
];

/// A level as a message has it.
pub(crate) fn level_to_proto(level: Level) -> LogLevel {
    LEVELS[level as usize].1
}

/// The level in a message; `None` if it is none.
pub(crate) fn level_from_proto(level: i32) -> Option<Level> {
    LEVELS.iter().find(|(_, known)| *known as i32 == level).map(|(level, _)| *level)
}

/// The most elements and members of data as a `Value`, on all levels together. A decoder counts them in each message.
const MAX_LOG_ENTRIES: usize = FrameLimits::MAX_ENTRIES / 2;

/// Doubles up to 2^53 hold every whole number.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::frame::Decoder;
    use crate::message::McpMessage;
    use crate::message::mcp_message::Payload;

    #[test]
    fn progress_survives_both_ways() {
        for progress in [
            Progress::new(1),
            Progress::new(0.5).of(2).with_message("half"),
            Progress::new(-3).of(9_007_199_254_740_992_i64),
            Progress::new(1e300),
        ] {
            assert_eq!(progress_from_proto(progress_to_proto(&progress).unwrap()), progress);
        }
        assert_eq!(progress_to_proto(&Progress::new(f64::NAN)), None);
        assert_eq!(progress_to_proto(&Progress::new(1).of(f64::INFINITY)).unwrap().total, 0.0);
    }

    #[test]
    fn logs_survive_both_ways() {
        for (level, logger, data) in [
            (Level::Debug, None, r#""text""#),
            (Level::Emergency, Some("disk"), r#"{"a":[1,2.5,null,true],"b":{}}"#),
            (Level::Info, Some("x"), "null"),
        ] {
            let data = RawJson::parse(data).unwrap();
            let (read, name, json) = log_from_proto(log_to_proto(level, logger, &data));
            assert_eq!((read, name.as_deref(), json.as_str()), (level, logger, data.as_str()));
        }
        for (at, level) in Level::ALL.into_iter().enumerate() {
            let number = level_to_proto(level) as i32;
            assert_eq!((usize::try_from(number).unwrap(), level_from_proto(number)), (at + 1, Some(level)));
        }
        assert_eq!((level_from_proto(0), level_from_proto(9)), (None, None));
        let deep = RawJson::parse(format!("{}{}", "[".repeat(60), "]".repeat(60))).unwrap();
        let (.., json) = log_from_proto(log_to_proto(Level::Info, None, &deep));
        assert_eq!(json.to::<String>().unwrap(), deep.as_str());
    }

    #[test]
    fn data_with_many_values_is_text_that_is_read() {
        let decoder = Decoder::new(FrameLimits::default());
        for (values, is_text) in [(MAX_LOG_ENTRIES, false), (MAX_LOG_ENTRIES + 1, true), (65_537, true)] {
            let list = format!("[{}0]", "0,".repeat(values - 1));
            // The same number of values in members, on two levels.
            let inside = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(values - 2));
            for data in [list, inside] {
                let log = log_to_proto(Level::Info, None, &RawJson::parse(data.clone()).unwrap());
                let message = McpMessage { id: 0, payload: Some(Payload::CallLog(log)) };
                let read = decoder.message(&message.encode_to_vec().into()).expect("a client reads it");
                let Some(Payload::CallLog(log)) = read.payload else { panic!("{values}") };
                let (.., json) = log_from_proto(log);
                let read = if is_text { json.to::<String>().unwrap() } else { json.as_str().to_owned() };
                assert_eq!((read == data, json.as_str().starts_with('"')), (true, is_text), "{values}");
            }
        }
    }
}
