//! `pmcp prompt`: the messages of one prompt.

use futures_util::TryStreamExt;
use protomcp_client::RequestError;

use crate::args::get::PromptOptions;
use crate::client::arguments::Arguments;
use crate::client::connection::Connection;
use crate::client::content;
use crate::client::refusal::{self, meant};
use crate::exit::{self, Failure};

/// Gets the prompt, and prints its messages.
pub(super) async fn prompt(options: PromptOptions) -> Result<(), Failure> {
    let PromptOptions { target, name, arguments, json, answers, server } = options;
    let arguments = Arguments::read(&arguments)?.into_texts();
    let connection = Connection::open_to_call(target, &server, &answers).await?;
    let outcome = connection.session.get_prompt(&name, &arguments).timeout(server.timeout).raw().await;
    let meant = match &outcome {
        Err(RequestError::Refused(_)) => meant(&name, connection.session.prompts().map_ok(|prompt| prompt.name)).await,
        _ => None,
    };
    let asking = connection.asking();
    connection.close().await;
    let result = outcome.map_err(|error| refusal::failure(&format!("getting {name:?}"), &error, meant, asking))?;
    let text = if json { format!("{result}\n") } else { content::of_prompt(&result.to_value()) };
    exit::print(&exit::for_stdout(text))
}
