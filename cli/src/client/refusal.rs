//! The way out of a request that a server has refused.

use std::pin::pin;

use futures_util::{Stream, TryStreamExt};
use protomcp_client::RequestError;
use protomcp_types::{Elicit, Method, code, one_line};
use serde_json::Value;

use crate::exit::Failure;
use crate::nearest::nearest;

/// The most names that are compared with one that the server does not know.
const MAX_NAMES: usize = 10_000;

/// The listed name that was meant by one that the server does not list.
pub(super) async fn meant(name: &str, listed: impl Stream<Item = Result<String, RequestError>>) -> Option<String> {
    let mut listed = pin!(listed);
    let mut names = Vec::new();
    while let Some(listed) = listed.try_next().await.ok()? {
        names.push(listed);
        if names.len() == MAX_NAMES {
            break;
        }
    }
    nearest(name, names.iter().map(String::as_str)).filter(|near| *near != name).map(str::to_owned)
}

/// The ways in which a server can ask its user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    /// There are answers or a terminal.
    pub(super) is_possible: bool,
    /// There is no session, in which some servers ask.
    pub(super) is_stateless: bool,
}

const ANSWER: &str = "; it asks its user: give the answers with --answer KEY=VALUE, or run this in a terminal";

impl Asking {
    /// The way out of a failure with this text, if it is about a question. Servers have their own words for that.
    pub(super) fn advice(self, text: &str) -> &'static str {
        if !text.to_lowercase().contains("elicit") {
            return "";
        }
        match (self.is_possible, self.is_stateless) {
            (false, false) => ANSWER,
            (false, true) => {
                "; it asks its user: give the answers with --answer KEY=VALUE and --era stateful, or run this in a terminal"
            }
            (true, true) => "; it asks its user, which some servers can do in a session only: add --era stateful",
            (true, false) => "",
        }
    }
}

/// The failure of a request, with the way out. `what`: such as `calling "add"`.
pub(super) fn failure(what: &str, error: &RequestError, meant: Option<String>, asking: Asking) -> Failure {
    let advice = match meant {
        Some(meant) => format!("; did you mean {}?", one_line(&meant)),
        None if asks_its_user(error) => ANSWER.to_owned(),
        None => asking.advice(&error.to_string()).to_owned(),
    };
    Failure::failed(format!("{what} failed: {error}{advice}"))
}

/// True if a request has failed because the server cannot ask its user.
fn asks_its_user(error: &RequestError) -> bool {
    let error = match error {
        RequestError::Refused(error) => error,
        // The server has asked nevertheless.
        RequestError::NoInput(error) => {
            return error.code == code::METHOD_NOT_FOUND && error.message.contains(Elicit::NAME);
        }
        _ => return false,
    };
    let data: Option<Value> = error.data.as_ref().and_then(|data| data.to().ok());
    error.code == code::MISSING_CLIENT_CAPABILITY
        && data.is_some_and(|data| !data["requiredCapabilities"]["elicitation"].is_null())
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use protomcp_types::{ErrorObject, RawJson};

    use super::*;

    #[tokio::test]
    async fn a_refused_name_has_a_suggestion() {
        let listed = || stream::iter(["notes://all", "notes://one"].map(|name| Ok(name.to_owned())));
        assert_eq!(meant("notes://al", listed()).await.as_deref(), Some("notes://all"));
        for none in ["notes://all", "files://x/y/z"] {
            assert_eq!(meant(none, listed()).await, None, "{none}");
        }
    }

    #[test]
    fn a_question_without_a_terminal_names_the_flag() {
        let refused = |data: &str| {
            let error = ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, "not declared");
            RequestError::Refused(error.with_data(RawJson::parse(data.to_owned()).unwrap()))
        };
        let form = refused(r#"{"requiredCapabilities":{"elicitation":{"form":{}}}}"#);
        let asking = Asking { is_possible: false, is_stateless: true };
        let failure = |error: &RequestError| failure("calling \"a\"", error, None, asking).to_string();
        assert!(failure(&form).contains("--answer KEY=VALUE"));
        let asked = RequestError::NoInput(ErrorObject::method_not_found(Elicit::NAME));
        assert!(failure(&asked).contains("--answer KEY=VALUE"));
        let sampling = refused(r#"{"requiredCapabilities":{"sampling":{}}}"#);
        assert!(failure(&sampling).ends_with("(-32021)"));
        let own =
            RequestError::Refused(ErrorObject::internal("elicitation via server-initiated requests is unavailable"));
        assert!(failure(&own).contains("--answer KEY=VALUE and --era stateful"));
    }

    #[test]
    fn a_question_in_words_names_the_flags_that_help() {
        let text = "Cannot send 'elicitation/create': this transport context has no back-channel";
        for (is_possible, is_stateless, expected) in [
            (false, false, "--answer KEY=VALUE, or"),
            (false, true, "--answer KEY=VALUE and --era stateful"),
            (true, true, "add --era stateful"),
            (true, false, ""),
        ] {
            let asking = Asking { is_possible, is_stateless };
            let advice = asking.advice(text);
            assert!(advice.contains(expected) && advice.is_empty() == expected.is_empty(), "{advice}");
            assert_eq!(asking.advice("no such file"), "");
        }
    }
}
