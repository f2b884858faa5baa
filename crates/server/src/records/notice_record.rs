//! A notice in the form that another process reads.

use std::sync::Arc;

use protomcp_types::{JsonBuf, JsonObject, Level, RawJson};

use crate::records::notice_bus::NoticeReceiver;
use crate::records::session_notice::{Audience, SessionNotice};
use protomcp_fair::Owner;
use protomcp_session::List;

/// A notice and its audience, as a [`NoticeBus`](crate::NoticeBus) sends them to another process.
///
/// It is for everyone or for a principal: ids of sessions and addresses mean something else in another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRecord {
    /// `None`: everyone.
    principal: Option<Arc<str>>,
    notice: OwnedNotice,
}

/// The notices that may concern sessions of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OwnedNotice {
    ListChanged(List),
    ResourceUpdated(String),
    TaskChanged(String),
    TokenRefused(String),
    Log { level: Level, logger: Option<String>, data: RawJson },
}

impl NoticeRecord {
    /// The record of a notice; `None`: it concerns this process alone. Such a notice has one session, an address or the
    /// callers of this machine as its audience, is about a task or a web page of one session, or says that others were missed.
    #[must_use]
    pub fn of(audience: &Audience, notice: SessionNotice<'_>) -> Option<Self> {
        let principal = match audience {
            Audience::Everyone => None,
            Audience::Owner(Owner::Principal(principal)) => Some(Arc::clone(principal)),
            Audience::Owner(Owner::Address(_) | Owner::Local) | Audience::Session(_) => return None,
        };
        let notice = match notice {
            SessionNotice::ListChanged(list) => OwnedNotice::ListChanged(list),
            SessionNotice::ResourceUpdated(uri) => OwnedNotice::ResourceUpdated(uri.to_owned()),
            SessionNotice::TaskChanged(id) => OwnedNotice::TaskChanged(id.to_owned()),
            SessionNotice::TokenRefused(digest) => OwnedNotice::TokenRefused(digest.to_owned()),
            SessionNotice::Log { level, logger, data } => {
                OwnedNotice::Log { level, logger: logger.map(str::to_owned), data: data.clone() }
            }
            SessionNotice::TaskStatus(_)
            | SessionNotice::TaskProgress { .. }
            | SessionNotice::ElicitationComplete(_)
            | SessionNotice::Missed => return None,
        };
        Some(Self { principal, notice })
    }

    /// Sends the notice to the sessions of a receiver.
    pub fn deliver_to(&self, receiver: &dyn NoticeReceiver) {
        let audience = match &self.principal {
            None => Audience::Everyone,
            Some(principal) => Audience::Owner(Owner::Principal(Arc::clone(principal))),
        };
        let notice = match &self.notice {
            OwnedNotice::ListChanged(list) => SessionNotice::ListChanged(*list),
            OwnedNotice::ResourceUpdated(uri) => SessionNotice::ResourceUpdated(uri),
            OwnedNotice::TaskChanged(id) => SessionNotice::TaskChanged(id),
            OwnedNotice::TokenRefused(digest) => SessionNotice::TokenRefused(digest),
            OwnedNotice::Log { level, logger, data } => {
                SessionNotice::Log { level: *level, logger: logger.as_deref(), data }
            }
        };
        receiver.deliver(&audience, notice);
    }

    /// The id of the task that has changed, if the notice is about one.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        match &self.notice {
            OwnedNotice::TaskChanged(id) => Some(id),
            OwnedNotice::ListChanged(_)
            | OwnedNotice::ResourceUpdated(_)
            | OwnedNotice::TokenRefused(_)
            | OwnedNotice::Log { .. } => None,
        }
    }

    /// The record as JSON, for [`NoticeRecord::from_json`].
    #[must_use]
    pub fn to_json(&self) -> JsonBuf {
        let object = JsonBuf::object().text_if("principal", self.principal.as_deref());
        let object = match &self.notice {
            OwnedNotice::ListChanged(list) => object.text("list", name(*list)),
            OwnedNotice::ResourceUpdated(uri) => object.text("resource", uri),
            OwnedNotice::TaskChanged(id) => object.text("task", id),
            OwnedNotice::TokenRefused(digest) => object.text("token", digest),
            OwnedNotice::Log { level, logger, data } => {
                object.text("level", level.as_str()).text_if("logger", logger.as_deref()).raw("data", data)
            }
        };
        object.finish()
    }

    /// The record that [`NoticeRecord::to_json`] has written; `None`: the text is not a record.
    #[must_use]
    pub fn from_json(text: &RawJson) -> Option<Self> {
        let object = JsonObject::from_raw(text).ok()?;
        let text = |name: &str| object.member(name).map(RawJson::to::<String>).transpose().ok();
        let texts = ["list", "resource", "task", "token", "level"].map(text);
        let [list, uri, id, digest, level] = texts;
        let notice = match (list?, uri?, id?, digest?, level?) {
            (Some(list), None, None, None, None) => {
                OwnedNotice::ListChanged(List::ALL.into_iter().find(|other| name(*other) == list)?)
            }
            (None, Some(uri), None, None, None) => OwnedNotice::ResourceUpdated(uri),
            (None, None, Some(id), None, None) => OwnedNotice::TaskChanged(id),
            (None, None, None, Some(digest), None) => OwnedNotice::TokenRefused(digest),
            (None, None, None, None, Some(level)) => {
                let data = object.member("data")?.clone();
                OwnedNotice::Log { level: Level::parse(&level)?, logger: text("logger")?, data }
            }
            _ => return None,
        };
        Some(Self { principal: text("principal")?.map(Into::into), notice })
    }
}

fn name(list: List) -> &'static str {
    match list {
        List::Tools => "tools",
        List::Resources => "resources",
        List::Prompts => "prompts",
    }
}

#[cfg(test)]
mod tests {
    use protomcp_session::SessionId;

    use super::*;

    fn of(audience: &Audience, notice: SessionNotice<'_>) -> Option<String> {
        NoticeRecord::of(audience, notice).map(|record| record.to_json().into_raw().as_str().to_owned())
    }

    fn ann() -> Audience {
        Audience::Owner(Owner::Principal("ann".into()))
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let data = RawJson::parse(r#"{"disk":["full"]}"#).unwrap();
        let log = SessionNotice::Log { level: Level::Error, logger: Some("disk"), data: &data };
        let null = RawJson::NULL;
        let bare = SessionNotice::Log { level: Level::Debug, logger: None, data: &null };
        for (audience, notice, expected) in [
            (Audience::Everyone, SessionNotice::ListChanged(List::Tools), r#"{"list":"tools"}"#),
            (ann(), SessionNotice::ListChanged(List::Prompts), r#"{"principal":"ann","list":"prompts"}"#),
            (Audience::Everyone, SessionNotice::ListChanged(List::Resources), r#"{"list":"resources"}"#),
            (Audience::Everyone, SessionNotice::ResourceUpdated("file:///a"), r#"{"resource":"file:///a"}"#),
            (Audience::Everyone, SessionNotice::TaskChanged("7"), r#"{"task":"7"}"#),
            (Audience::Everyone, SessionNotice::TokenRefused("x"), r#"{"token":"x"}"#),
            (ann(), log, r#"{"principal":"ann","level":"error","logger":"disk","data":{"disk":["full"]}}"#),
            (Audience::Everyone, bare, r#"{"level":"debug","data":null}"#),
        ] {
            assert_eq!(of(&audience, notice).as_deref(), Some(expected));
            let read = NoticeRecord::from_json(&RawJson::parse(expected).unwrap());
            assert_eq!(read, NoticeRecord::of(&audience, notice), "{expected}");
            let task = matches!(notice, SessionNotice::TaskChanged(_)).then_some("7");
            assert_eq!(read.as_ref().and_then(NoticeRecord::task_id), task);
        }
    }

    #[test]
    fn other_texts_are_not_records() {
        for text in [
            "[]",
            "{}",
            r#"{"list":"others"}"#,
            r#"{"list":"tools","task":"7"}"#,
            r#"{"principal":7,"list":"tools"}"#,
            r#"{"level":"error"}"#,
            r#"{"level":"loud","data":1}"#,
            r#"{"level":"error","logger":1,"data":1}"#,
            r#"{"resource":null}"#,
        ] {
            assert_eq!(NoticeRecord::from_json(&RawJson::parse(text).unwrap()), None, "{text}");
        }
    }

    #[test]
    fn notices_for_this_process_have_no_record() {
        let changed = SessionNotice::ListChanged(List::Tools);
        for audience in [
            Audience::Session(SessionId::new(1)),
            Audience::Owner(Owner::Local),
            Audience::Owner(Owner::of_address([127, 0, 0, 1].into())),
        ] {
            assert_eq!(of(&audience, changed), None, "{audience:?}");
        }
        for notice in [SessionNotice::ElicitationComplete("1"), SessionNotice::Missed] {
            assert_eq!(of(&Audience::Everyone, notice), None, "{notice:?}");
        }
    }
}
