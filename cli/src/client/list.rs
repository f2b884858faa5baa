//! `pmcp list`: the tools, resources, templates, prompts or skills of a server.

use futures_util::{Stream, TryStreamExt};
use protomcp_client::{ClientSession, RequestError};
use protomcp_types::{Prompt, RawJson, Tool, one_line};
use serde::Serialize;

use crate::args::client::{ListKind, ListOptions};
use crate::client::connection::Connection;
use crate::client::signature;
use crate::client::skill_entries::{self, SkillEntry};
use crate::exit::{self, Failure};

/// A definition: the name with the arguments, or the URI; the description; and the whole as JSON.
struct Row {
    name: String,
    description: Option<String>,
    json: String,
}

impl From<SkillEntry> for Row {
    fn from(skill: SkillEntry) -> Self {
        let SkillEntry { uri, name, description, json } = skill;
        let description = format!("{uri}  {}", description.unwrap_or_default());
        Self { name, description: Some(description), json: json.to_string() }
    }
}

/// Prints the list.
pub(super) async fn list(options: ListOptions) -> Result<(), Failure> {
    let ListOptions { target, kind, json, server } = options;
    let connection = Connection::open(target, &server).await?;
    let rows = if has(&connection.session, kind) { rows(&connection.session, kind).await } else { Ok(Vec::new()) };
    let fault = connection.named_skills().and_then(|named| named.fault).filter(|_| kind == ListKind::Skills);
    connection.close().await;
    if let Some(why) = fault {
        return Err(Failure::usage(why));
    }
    let rows = rows.map_err(|error| Failure::failed(format!("cannot list {}: {error}", kind.name())))?;
    if rows.is_empty() && !json {
        tracing::warn!("the server has no {}", kind.name());
    }
    exit::print(&exit::for_stdout(if json { as_json(&rows) } else { as_table(&rows) }))
}

/// False if the server says that it has none.
fn has(session: &ClientSession, kind: ListKind) -> bool {
    let server = session.server();
    server.capabilities.as_ref().is_none_or(|capabilities| match kind {
        ListKind::Tools => capabilities.tools.is_some(),
        ListKind::Resources | ListKind::Templates => capabilities.resources.is_some(),
        ListKind::Prompts => capabilities.prompts.is_some(),
        // Sessions do not declare them.
        ListKind::Skills => true,
    })
}

async fn rows(session: &ClientSession, kind: ListKind) -> Result<Vec<Row>, RequestError> {
    match kind {
        ListKind::Tools => {
            let name = |tool: &Tool| format!("{}{}", tool.name, signature::of_tool(&tool.input_schema));
            collect(session.tools(), |tool| (name(tool), tool.description.clone())).await
        }
        ListKind::Resources => {
            collect(session.resources(), |resource| (resource.uri.clone(), resource.description.clone())).await
        }
        ListKind::Templates => {
            let templates = session.resource_templates();
            collect(templates, |template| (template.uri_template.clone(), template.description.clone())).await
        }
        ListKind::Prompts => {
            let name = |prompt: &Prompt| format!("{}{}", prompt.name, signature::of_prompt(&prompt.arguments));
            collect(session.prompts(), |prompt| (name(prompt), prompt.description.clone())).await
        }
        ListKind::Skills => Ok(skill_entries::skills(session).await?.into_iter().map(Row::from).collect()),
    }
}

async fn collect<T: Serialize>(
    items: impl Stream<Item = Result<T, RequestError>>,
    describe: impl Fn(&T) -> (String, Option<String>),
) -> Result<Vec<Row>, RequestError> {
    let row = |item: T| {
        let (name, description) = describe(&item);
        let json = RawJson::of(&item).map_or_else(|_| "null".to_owned(), |raw| raw.to_string());
        Row { name, description, json }
    };
    items.map_ok(row).try_collect().await
}

fn as_json(rows: &[Row]) -> String {
    let items: Vec<_> = rows.iter().map(|row| row.json.as_str()).collect();
    format!("[{}]\n", items.join(",\n "))
}

/// A line each: the name, and the first line of the description.
fn as_table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| one_line(&row.name).chars().count()).max().unwrap_or_default().min(40);
    rows.iter().fold(String::new(), |mut table, row| {
        let description = row.description.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
        let (name, description) = (one_line(&row.name), one_line(description));
        table.push_str(format!("{name:width$}  {description}").trim_end());
        table.push('\n');
        table
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_server_do_not_reach_a_table() {
        let row = Row { name: "a\x1b[2J\nb".into(), description: Some("c\u{9b}31m\nd".into()), json: String::new() };
        assert_eq!(as_table(&[row]), "a\\u{1b}[2J\\nb  c\\u{9b}31m\n");
    }
}
