//! `pmcp validate`: the definitions of a server, checked.

use std::path::Path;
use std::time::Instant;

use protomcp_check::{SkillFault, Strictness, ToolDefinition, ToolSet, to_sarif, validate as check};
use protomcp_types::{ListTools, Method};

use crate::args::client::Target;
#[cfg(feature = "upstream")]
use crate::args::shown_url::shown;
use crate::args::validate::{ReportFormat, ValidateOptions};
use crate::client::connection::Connection;
use crate::client::elements::elements;
use crate::client::file_skills::Named;
use crate::client::{skill_entries, skill_faults};
use crate::exit::{self, Failure};

/// Checks the tools, and prints the report.
pub(super) async fn validate(options: ValidateOptions) -> Result<(), Failure> {
    let ValidateOptions { target, strictness, format, hosts, server } = options;
    let begun = Instant::now();
    let (name, artifact) = (server_name(&target), artifact(&target));
    let is_started = matches!(target, Target::File(_) | Target::Command(_));
    let connection = Connection::open(target, &server).await?;
    let listed = elements(&connection.session, ListTools::NAME, "tools").await;
    let took = begun.elapsed();
    let registered = connection.registered_tools();
    let skills = skills(&connection).await;
    let instructions = connection.session.server().instructions.clone();
    connection.close().await;
    let tools = match registered {
        Some(tools) => tools
            .iter()
            .map(|tool| {
                ToolDefinition::registered(&tool.name, &tool.description, &tool.input_schema, tool.definition.as_ref())
            })
            .collect(),
        None => {
            let listed = listed.map_err(|error| Failure::failed(format!("cannot list tools: {error}")))?;
            listed.iter().map(ToolDefinition::listed).collect()
        }
    };
    let set = ToolSet { server: name, instructions, tools, listed_after: is_started.then_some(took) };
    let report = check(&set, strictness, &hosts).with_skills(skills);
    match format {
        ReportFormat::Text => exit::print_report(report.to_text()),
        ReportFormat::Json => exit::print(&exit::for_stdout(format!("{}\n", report.to_json()))),
        ReportFormat::Sarif => exit::print(&exit::for_stdout(format!("{}\n", to_sarif(&report, &artifact)))),
    }?;
    let of_skills = report.skills.iter().filter(|fault| fault.is_error).count();
    let subject = match of_skills {
        0 => "the tools",
        count if count == report.errors.len() => "the skills",
        _ => "the tools and skills",
    };
    match report.errors.len() {
        0 if report.tools.is_empty() => without_tools(strictness),
        0 => Ok(()),
        1 => Err(Failure::failed(format!("{subject} have 1 error"))),
        count => Err(Failure::failed(format!("{subject} have {count} errors"))),
    }
}

/// The faults of the skills: in the folders that a tool file names, or of the entries of another server.
async fn skills(connection: &Connection) -> Vec<SkillFault> {
    match connection.named_skills() {
        Some(Named { folders, .. }) => skill_faults::of_folders(&folders),
        // The list of tools says more about a server that does not answer.
        None => skill_entries::skills(&connection.session)
            .await
            .map_or_else(|_| Vec::new(), |all| skill_faults::of_entries(&all)),
    }
}

/// A server may have resources alone; a file that registers nothing has a mistake.
fn without_tools(strictness: Strictness) -> Result<(), Failure> {
    let why = "the server has no tools";
    if strictness == Strictness::Strict {
        return Err(Failure::failed(why));
    }
    tracing::warn!("{why}");
    Ok(())
}

/// The file or the server that a finding is about.
fn artifact(target: &Target) -> String {
    match target {
        Target::File(file) => file.to_string_lossy().into_owned(),
        #[cfg(feature = "upstream")]
        Target::Url(url) => shown(url),
        #[cfg(feature = "upstream")]
        Target::Proto(server) => shown(&server.url),
        Target::Command(words) => words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default(),
    }
}

/// The name under which a user would add the server to a host.
fn server_name(target: &Target) -> String {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    #[cfg(feature = "upstream")]
    let host = |url: &str| {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        rest.split(['/', ':', '?']).next().unwrap_or_default().to_owned()
    };
    match target {
        Target::File(file) => stem(file),
        #[cfg(feature = "upstream")]
        Target::Url(url) => host(url),
        #[cfg(feature = "upstream")]
        Target::Proto(server) => host(&server.url),
        Target::Command(words) => words.first().map(|word| stem(Path::new(word))).unwrap_or_default(),
    }
}
