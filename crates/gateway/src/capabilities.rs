//! The description that a gateway gives of itself: that of its only server, or the union of several.

use protomcp_client::ServerView;
use protomcp_server::ServerInfo;
use protomcp_types::{Implementation, ListCapability, RawJson, ServerCapabilities, TASKS_EXTENSION};

/// A server as it has described itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described<'a> {
    pub(crate) name: &'a str,
    /// `None` if it could not be reached.
    pub(crate) view: Option<&'a ServerView>,
    /// Its next version may have any capability.
    pub(crate) changes: bool,
}

/// The description of the gateway. `gateway`: its name among several servers.
pub(crate) fn describe(servers: &[Described<'_>], gateway: &Implementation) -> ServerInfo {
    let implementation = match servers {
        [only] => only.view.and_then(|view| view.implementation.clone()),
        _ => None,
    };
    ServerInfo {
        implementation: implementation.unwrap_or_else(|| gateway.clone()),
        capabilities: union(servers),
        instructions: instructions(servers),
        ..ServerInfo::default()
    }
}

/// The instructions of the only server as they are, and those of several under their names.
fn instructions(servers: &[Described<'_>]) -> Option<String> {
    let given = servers.iter().filter_map(|server| Some((server.name, server.view?.instructions.as_deref()?)));
    let given: Vec<_> = given.collect();
    match (servers, given.as_slice()) {
        (_, []) => None,
        ([_], [(_, only)]) => Some((*only).to_owned()),
        (_, all) => Some(all.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join("\n\n")),
    }
}

/// The union of capabilities. A server that has not described itself may have any.
fn union(servers: &[Described<'_>]) -> ServerCapabilities {
    let any = ServerCapabilities::default()
        .with_tools()
        .with_resources()
        .with_prompts()
        .with_completions()
        .with_logging()
        .with_tasks()
        .with_task_extension();
    // Many servers log without declaring it.
    let mut all = ServerCapabilities::default().with_logging();
    let known = servers.iter().filter_map(|server| server.view?.capabilities.as_ref());
    let open =
        servers.iter().any(|server| server.changes || server.view.is_none_or(|view| view.capabilities.is_none()));
    for server in known.chain(open.then_some(&any)) {
        join_list(&mut all.tools, server.tools);
        join_list(&mut all.resources, server.resources);
        join_list(&mut all.prompts, server.prompts);
        if server.completions.is_some() {
            all.completions = Some(RawJson::EMPTY_OBJECT);
        }
        let has_tasks = server.tasks.is_some_and(|tasks| tasks.has_tool_calls());
        if has_tasks || server.has_extension(TASKS_EXTENSION) {
            all = all.with_tasks().with_task_extension();
        }
    }
    all
}

/// Lists always change: a server can go and come back.
fn join_list(all: &mut Option<ListCapability>, one: Option<ListCapability>) {
    if let Some(one) = one {
        let subscribe = one.subscribe || all.is_some_and(|all| all.subscribe);
        *all = Some(ListCapability { list_changed: true, subscribe });
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::ProtocolVersion;

    use super::*;

    fn server(capabilities: ServerCapabilities, instructions: Option<&str>) -> ServerView {
        ServerView {
            version: ProtocolVersion::V2025_11_25,
            implementation: Some(Implementation::new("s", "7")),
            capabilities: Some(capabilities),
            instructions: instructions.map(str::to_owned),
        }
    }

    fn fixed<'a>(name: &'a str, view: Option<&'a ServerView>) -> Described<'a> {
        Described { name, view, changes: false }
    }

    fn text(servers: &[Described<'_>]) -> String {
        serde_json::to_string(&describe(servers, &Implementation::new("g", "1")).capabilities).unwrap()
    }

    #[test]
    fn a_single_server_is_passed_on() {
        let one = server(ServerCapabilities::default().with_tools(), Some("be kind"));
        let info = describe(&[fixed("a", Some(&one))], &Implementation::new("g", "1"));
        assert_eq!((info.implementation.name.as_str(), info.instructions.as_deref()), ("s", Some("be kind")));
        assert_eq!(text(&[fixed("a", Some(&one))]), r#"{"logging":{},"tools":{"listChanged":true}}"#);
    }

    #[test]
    fn several_servers_are_one_with_the_union() {
        let one = server(ServerCapabilities::default().with_tools(), Some("be kind"));
        let unchanging = Some(ListCapability::default());
        let two =
            server(ServerCapabilities { resources: unchanging, ..ServerCapabilities::default().with_tasks() }, None);
        let info = describe(&[fixed("a", Some(&one)), fixed("b", Some(&two))], &Implementation::new("g", "1"));
        assert_eq!((info.implementation.name.as_str(), info.instructions.as_deref()), ("g", Some("a: be kind")));
        let can = info.capabilities;
        assert!(can.tools.is_some() && can.tasks.is_some() && can.prompts.is_none() && can.logging.is_some());
        assert_eq!(can.resources, Some(ListCapability { list_changed: true, subscribe: false }));
        let with_unknown = text(&[fixed("a", Some(&one)), fixed("b", None)]);
        assert_eq!(text(&[Described { changes: true, ..fixed("a", Some(&one)) }]), with_unknown);
        for name in ["tools", "resources", "prompts", "completions", "logging", "tasks", TASKS_EXTENSION] {
            assert!(with_unknown.contains(name), "{name} in {with_unknown}");
        }
    }
}
