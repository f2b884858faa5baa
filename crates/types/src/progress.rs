//! Progress of a request.

use std::cmp::Ordering;

use crate::id::ProgressToken;
use crate::json_object::JsonObject;
use crate::message::Notification;
use crate::method;
use crate::raw::RawJson;
use crate::version::ProtocolVersion;

/// One progress report (MCP 2025-11-25, basic/utilities/progress).
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Increases with each report.
    pub progress: Amount,
    /// The final value, if known.
    pub total: Option<Amount>,
    /// A description for people.
    pub message: Option<String>,
}

/// A number that stays an integer if it was sent as one.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    /// Exact.
    Integer(i64),
    /// A finite fraction; others cannot be written in JSON and are left out.
    Real(f64),
}

impl Progress {
    /// A report without total and message.
    #[must_use]
    pub fn new(progress: impl Into<Amount>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }

    /// Sets the final value.
    #[must_use]
    pub fn of(mut self, total: impl Into<Amount>) -> Self {
        self.total = Some(total.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Reads a notification: its token and its report.
    #[must_use]
    pub fn from_notification(notification: &Notification) -> Option<(ProgressToken, Self)> {
        let params = &notification.params;
        let amount = |name| params.member(name).and_then(Amount::from_raw);
        let progress = Self {
            progress: amount("progress")?,
            total: amount("total"),
            message: params.member("message").and_then(|raw| raw.to().ok()),
        };
        Some((ProgressToken::from_raw(params.member("progressToken")?)?, progress))
    }

    /// The notification for the client; `None` if the progress is not a finite number.
    #[must_use]
    pub fn to_notification(&self, token: &ProgressToken, version: ProtocolVersion) -> Option<Notification> {
        let mut params =
            JsonObject::new().with("progressToken", token.to_raw()).with("progress", self.progress.to_raw()?);
        if let Some(total) = self.total.and_then(Amount::to_raw) {
            params.insert("total", total);
        }
        if let Some(message) = self.message.as_deref().filter(|_| version.has_progress_message()) {
            params.insert("message", RawJson::text(message));
        }
        Some(Notification { method: method::PROGRESS.into(), params: params.into() })
    }
}

impl Amount {
    /// Reads a JSON number, as an integer if it is one.
    #[must_use]
    pub fn from_raw(raw: &RawJson) -> Option<Self> {
        raw.to().map(Self::Integer).ok().or_else(|| raw.to().map(Self::Real).ok())
    }

    /// The JSON text; `None` for infinities and NaN.
    #[must_use]
    pub fn to_raw(self) -> Option<RawJson> {
        match self {
            Self::Integer(number) => RawJson::of(&number).ok(),
            Self::Real(number) if number.is_finite() => RawJson::of(&number).ok(),
            Self::Real(_) => None,
        }
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (*self, *other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Real(a), Self::Real(b)) => a.partial_cmp(&b),
            (Self::Integer(a), Self::Real(b)) => (a as f64).partial_cmp(&b),
            (Self::Real(a), Self::Integer(b)) => a.partial_cmp(&(b as f64)),
        }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl From<i64> for Amount {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<i32> for Amount {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for Amount {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn what_is_not_known_is_left_out() {
        let check = |progress: Progress, version, text: &str| {
            let notification = progress.to_notification(&ProgressToken::from(7), version).unwrap();
            assert_eq!(Message::from(notification).to_text(), text);
        };
        let head = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"#;
        let full = Progress::new(9007199254740993i64).of(0.5).with_message("x");
        check(Progress::new(1), ProtocolVersion::V2025_11_25, &format!(r#"{head}"progress":1}}}}"#));
        check(
            full.clone(),
            ProtocolVersion::V2025_03_26,
            &format!(r#"{head}"progress":9007199254740993,"total":0.5,"message":"x"}}}}"#),
        );
        check(full, ProtocolVersion::V2024_11_05, &format!(r#"{head}"progress":9007199254740993,"total":0.5}}}}"#));
        assert_eq!(
            Progress::new(f64::NAN).to_notification(&ProgressToken::from(7), ProtocolVersion::V2025_11_25),
            None
        );
    }

    #[test]
    fn amounts_compare_across_kinds() {
        assert!(Amount::from(1) < Amount::from(1.5));
        assert!(Amount::from(9007199254740992i64) < Amount::from(9007199254740993i64));
        assert_eq!(Amount::from(2.0), Amount::from(2));
    }
}
