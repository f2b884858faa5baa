//! Web pages that users are sent to: their ids in one session with a server, and the error with which a server asks for
//! them (MCP 2025-11-25, client/elicitation, URL mode).

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use protomcp_client::ServerQuestion;
use protomcp_server::SessionId;
use protomcp_types::{Elicit, ErrorObject, JsonObject, Method, RawJson};
use tokio::sync::Notify;

/// The most pages of a session that are remembered. The oldest are forgotten first.
const MAX_PAGES: usize = 64;
/// The longest id of one, in bytes.
const MAX_ID: usize = 1024;

/// The error of a server that first wants its user to visit pages. MCP 2026-07-28 has removed it.
const PAGES_REQUIRED: i64 = -32042;

/// The pages of one session with a server.
#[derive(Debug, Default)]
pub(crate) struct WebPages {
    /// The sessions of the clients whose users were sent to pages, by the ids that the server has given.
    open: Mutex<VecDeque<(String, SessionId)>>,
    /// Notified when any user is done with a page. Calls without a session wait for it.
    any_done: Notify,
}

impl WebPages {
    /// The user of a session was sent to a page.
    pub(crate) fn opened(&self, id: &str, client: SessionId) {
        if client == SessionId::STATELESS || id.len() > MAX_ID {
            return;
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(known, _)| known != id);
        if open.len() == MAX_PAGES {
            open.pop_front();
        }
        open.push_back((id.to_owned(), client));
    }

    /// The user is done with a page, which is forgotten. Returns the session whose user was sent there.
    pub(crate) fn done(&self, id: &str) -> Option<SessionId> {
        self.any_done.notify_waiters();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let index = open.iter().position(|(known, _)| known == id)?;
        open.remove(index).map(|(_, client)| client)
    }

    /// Waits until any user is done with a page.
    pub(crate) async fn next_done(&self) {
        self.any_done.notified().await;
    }
}

/// True for the error with which a server asks for visits.
pub(crate) fn are_required(error: &ErrorObject) -> bool {
    error.code == PAGES_REQUIRED
}

/// The pages that such an error asks for, each with its id.
pub(crate) fn required(error: &ErrorObject) -> Vec<(String, JsonObject)> {
    let pages = elements(error).into_iter().take(MAX_PAGES);
    pages.filter_map(|page| JsonObject::from_raw(&page).ok()).filter_map(|page| Some((id(&page)?, page))).collect()
}

/// Such an error with other ids of its pages.
pub(crate) fn with_ids(mut error: ErrorObject, other: impl Fn(&str) -> String) -> ErrorObject {
    let renamed = |raw: RawJson| match JsonObject::from_raw(&raw).ok().and_then(|page| Some((id(&page)?, page))) {
        Some((id, page)) => page.with("elicitationId", RawJson::text(&other(&id))).to_body().into_raw(),
        None => raw,
    };
    let pages = elements(&error);
    if let Some(data) = error.data.as_ref().and_then(|data| JsonObject::from_raw(data).ok())
        && !pages.is_empty()
    {
        let pages = protomcp_types::array(pages.into_iter().map(renamed));
        error.data = Some(data.with("elicitations", pages).to_body().into_raw());
    }
    error
}

fn elements(error: &ErrorObject) -> Vec<RawJson> {
    let data = error.data.as_ref().filter(|_| are_required(error)).and_then(|data| JsonObject::from_raw(data).ok());
    data.and_then(|data| data.member("elicitations")?.to().ok()).unwrap_or_default()
}

fn id(page: &JsonObject) -> Option<String> {
    page.member("elicitationId")?.to().ok()
}

/// The question that sends a user to a page.
pub(crate) fn question(key: String, page: JsonObject) -> ServerQuestion {
    let page = page.with("mode", RawJson::text("url"));
    ServerQuestion { key, method: Elicit::NAME.to_owned(), params: page.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_done_once_and_the_oldest_are_forgotten() {
        let (pages, client) = (WebPages::default(), SessionId::new(1));
        pages.opened("a", client);
        pages.opened("a", SessionId::new(2));
        pages.opened("b", SessionId::STATELESS);
        pages.opened(&"c".repeat(MAX_ID + 1), client);
        assert_eq!((pages.done("a"), pages.done("a"), pages.done("b")), (Some(SessionId::new(2)), None, None));
        for number in 0..=MAX_PAGES {
            pages.opened(&number.to_string(), client);
        }
        assert_eq!((pages.done("0"), pages.done("1")), (None, Some(client)));
    }

    #[test]
    fn an_error_names_its_pages() {
        let error = |code, data: &'static str| ErrorObject::new(code, "x").with_data(RawJson::parse(data).unwrap());
        let data = r#"{"later":1.0,"elicitations":[{"mode":"url","elicitationId":"7","url":"https://a"},{}]}"#;
        let pages = required(&error(PAGES_REQUIRED, data));
        assert_eq!((pages.len(), pages[0].0.as_str()), (1, "7"));
        let renamed = with_ids(error(PAGES_REQUIRED, data), |id| format!("1/{id}")).data.unwrap();
        let expected = r#"{"later":1.0,"elicitations":[{"mode":"url","elicitationId":"1/7","url":"https://a"},{}]}"#;
        assert_eq!(renamed.as_str(), expected);
        for other in [error(-32603, data), error(PAGES_REQUIRED, "{}"), error(PAGES_REQUIRED, r#"{"elicitations":[]}"#)]
        {
            assert_eq!(required(&other), []);
            assert_eq!(with_ids(other.clone(), |_| String::new()), other);
        }
    }
}
