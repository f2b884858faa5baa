//! Tool list control in the envelopes of the tool process, before and while it is in service.

use std::collections::BTreeSet;

use protomcp_envelope::{
    ActiveToolsResponse, BatchUpdateRequest, DisableToolsRequest, EnableToolsRequest, Msg, SetAllowedRequest,
    SetBlockedRequest, ToolDefinition,
};
use protomcp_link::{Event, Link, Middleware, Notice};
use protomcp_toollist::{Command, Policy, Rejected, ToolList};
use protomcp_types::ToolName;
use protomcp_wire::log::LogLine;

use crate::catalog::resources_and_prompts::Kind;
use crate::from_tool::questions::Asked;
use crate::from_tool::tool_log;
use crate::process::sdk::{self, SdkFeatures};

/// The command in a request of the process; `None` for another kind of request.
pub(crate) fn command(message: Msg) -> Option<Result<Command<ToolName>, Rejected>> {
    Some(Ok(match message {
        Msg::EnableTools(EnableToolsRequest { tool_names }) => Command::enable(names(tool_names)),
        Msg::DisableTools(DisableToolsRequest { tool_names }) => Command::disable(names(tool_names)),
        Msg::SetAllowed(SetAllowedRequest { tool_names }) => {
            Command::switch_to(policy(tool_names, Policy::Allow).unwrap_or(Policy::Open))
        }
        Msg::SetBlocked(SetBlockedRequest { tool_names }) => {
            Command::switch_to(policy(tool_names, Policy::Block).unwrap_or(Policy::Open))
        }
        Msg::GetActiveTools(_) => Command::enable(Vec::new()),
        Msg::Batch(BatchUpdateRequest { enable, disable, allow, block }) => {
            let policy = match (policy(allow, Policy::Allow), policy(block, Policy::Block)) {
                (Some(_), Some(_)) => return Some(Err(Rejected::AllowAndBlock)),
                (allow, block) => allow.or(block),
            };
            Command { policy, enable: names(enable), disable: names(disable) }
        }
        _ => return None,
    }))
}

/// The policy with these names; `None` for an empty list. A list of which all names are ignored is not empty: as an
/// allowlist it shows no tool.
fn policy(tool_names: Vec<String>, kind: fn(BTreeSet<ToolName>) -> Policy<ToolName>) -> Option<Policy<ToolName>> {
    (!tool_names.is_empty()).then(|| kind(names(tool_names).into_iter().collect()))
}

/// The list change inside a call's result; `None` if there is none.
pub(crate) fn inline(enable: Vec<String>, disable: Vec<String>) -> Option<Command<ToolName>> {
    if enable.is_empty() && disable.is_empty() {
        return None;
    }
    Some(Command::enable_then_disable(names(enable), names(disable)))
}

/// The longest name of a tool that can be shown or hidden, in bytes: eight times the recommendation of MCP 2025-11-25.
/// Names need not belong to a tool yet, so they are stored, at most [`protomcp_toollist::MAX_LISTED_NAMES`].
const NAME_MAX: usize = 1024;

/// Names that a tool cannot have are ignored, since they could never take effect, and so are names that are too long.
fn names(names: Vec<String>) -> Vec<ToolName> {
    let count = names.len();
    let fit: Vec<_> = names.into_iter().filter(|name| name.len() <= NAME_MAX).collect();
    if fit.len() < count {
        let long = count - fit.len();
        tracing::warn!("{long} names of tools to show or hide are longer than {NAME_MAX} bytes; they are ignored");
    }
    fit.into_iter().filter_map(|name| ToolName::new(name).ok()).collect()
}

/// The lists other than tools that have changed, according to the process.
pub(crate) fn renewed(message: &Msg) -> &'static [Kind] {
    match message {
        Msg::ResourceListChanged(_) => &[Kind::Resources, Kind::Templates],
        Msg::PromptListChanged(_) => &[Kind::Prompts],
        _ => &[],
    }
}

/// Warns the author of a rejected frame.
pub(crate) fn refused(reason: &str, count: u64) {
    match count {
        1 => tracing::warn!("a message of the tool process was refused: {reason}"),
        _ => tracing::warn!("{count} such messages of the tool process were refused, the last because {reason}"),
    }
}

/// The tool list of a process that is not in service yet.
#[derive(Debug, Default)]
pub(crate) struct PendingRegistration {
    /// The announced features of the process.
    pub(crate) sdk: SdkFeatures,
    /// The folders of skills that it names.
    pub(crate) skill_folders: Vec<String>,
    /// Its lists other than tools that have changed since.
    pub(crate) renewed: Vec<Kind>,
    /// Its last tools since the handshake, if it has sent any.
    pub(crate) relisted: Option<Vec<ToolDefinition>>,
    /// Middleware that it has registered since the handshake.
    pub(crate) late: Vec<Middleware>,
    list: ToolList<ToolName, ()>,
    commands: Vec<Command<ToolName>>,
}

impl PendingRegistration {
    /// The first tools. Earlier lists and middleware do not count, but names that were shown or hidden do.
    pub(crate) fn begin_with(&mut self, tools: &[ToolDefinition]) {
        self.relisted = None;
        self.renewed.clear();
        self.late.clear();
        self.register(tools);
    }

    /// Hidden tools stay hidden.
    fn register(&mut self, tools: &[ToolDefinition]) {
        let names = tools.iter().filter_map(|tool| ToolName::new(tool.name.as_str()).ok());
        self.list.register(names.map(|name| (name, ())).collect());
    }

    pub(crate) fn into_commands(self) -> Vec<Command<ToolName>> {
        self.commands
    }

    fn apply(&mut self, command: Result<Command<ToolName>, Rejected>) -> ActiveToolsResponse {
        if let Ok(command) = command
            && self.list.apply(&command).is_ok()
        {
            self.commands.push(command);
        }
        ActiveToolsResponse { tool_names: self.list.active().map(|(name, ())| name.to_string()).collect() }
    }
}

/// Takes an event of a process that is not in service yet.
pub(crate) fn answer_early(link: &Link, event: Event, draft: &mut PendingRegistration) {
    match event {
        Event::Request { id, message, .. } => match Asked::read(message) {
            Ok(asked) => link.reply(id, asked.refuse_early()),
            Err(message) => {
                if let Some(command) = command(message) {
                    link.reply(id, draft.apply(command));
                }
            }
        },
        Event::Notification { message: Msg::SdkInfo(info), .. } => {
            tracing::info!(sdk = info.name, version = info.version, language = info.language, "the tool process");
            draft.sdk = SdkFeatures::of(&info);
            draft.skill_folders = info.skill_folders;
            link.reply("", sdk::bridge_info());
            if draft.sdk.answers_pings {
                link.keep_alive();
            }
        }
        Event::Notification { message: Msg::Log(message), .. } => tool_log::write(&LogLine::to_mcp(&message)),
        Event::Listed(tools) => {
            draft.register(&tools);
            draft.relisted = Some(tools);
        }
        Event::Notification { message, .. } => {
            let kinds = renewed(&message).iter().filter(|kind| !draft.renewed.contains(kind));
            draft.renewed.extend(kinds.copied().collect::<Vec<_>>());
        }
        Event::LateMiddleware(middleware) => draft.late.push(middleware),
        Event::Noticed(Notice::Undecoded { reason, count }) => refused(&reason, count),
        Event::Noticed(notice) => tracing::debug!("{notice:?} while starting"),
        _ => {}
    }
}
