//! The description that a gateway gives of itself: the description of its only server, or the union of several.

use protomcp_server::ServerInfo;
use protomcp_types::{Implementation, ListCapability, RawJson, SKILLS_EXTENSION, ServerCapabilities, TASKS_EXTENSION};

use crate::described::Described;
use crate::era::Era;

/// The description of the gateway for clients of an era. `gateway`: its name among several servers.
pub(crate) fn describe(servers: &[Described], era: Era, gateway: &Implementation) -> ServerInfo {
    let implementation = match servers {
        [only] => only.view(era).and_then(|view| view.implementation.clone()),
        _ => None,
    };
    ServerInfo {
        implementation: implementation.unwrap_or_else(|| gateway.clone()),
        capabilities: union(servers, era),
        instructions: instructions(servers, era),
        ..ServerInfo::default()
    }
}

/// The instructions of the only server as they are, and the instructions of several under their names.
fn instructions(servers: &[Described], era: Era) -> Option<String> {
    let given = servers.iter().filter_map(|server| Some((server.name(), server.view(era)?.instructions.as_deref()?)));
    let given: Vec<_> = given.collect();
    match (servers, given.as_slice()) {
        (_, []) => None,
        ([_], [(_, only)]) => Some((*only).to_owned()),
        (_, all) => Some(all.iter().map(|(name, text)| format!("{name}: {text}")).collect::<Vec<_>>().join("\n\n")),
    }
}

/// The union of capabilities. A server that has not described itself may have any.
fn union(servers: &[Described], era: Era) -> ServerCapabilities {
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
    let known = servers.iter().filter_map(|server| server.view(era)?.capabilities.as_ref());
    let may_have_any = servers.iter().any(|server| server.may_have_any(era));
    for server in known.chain(may_have_any.then_some(&any)) {
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
    // Requests about skills are passed on to the only server: the URIs of several could be the same.
    if let [only] = servers
        && let Some(settings) = skills(only, era).or_else(|| possible_skills(only, era, &all))
    {
        all = all.with_extension(SKILLS_EXTENSION, settings);
    }
    if servers.iter().any(|server| server.may_differ(era)) { with_other_era(all) } else { all }
}

/// The settings of the extension for skills, if the server has it.
fn skills(server: &Described, era: Era) -> Option<RawJson> {
    server.view(era)?.capabilities.as_ref()?.extension(SKILLS_EXTENSION)
}

/// A server with resources that was spoken to in sessions alone: sessions do not declare skills.
fn possible_skills(server: &Described, era: Era, all: &ServerCapabilities) -> Option<RawJson> {
    let may_have = era == Era::Stateless && all.resources.is_some() && server.may_differ(era);
    may_have.then_some(RawJson::EMPTY_OBJECT)
}

/// Adds the capabilities that a server may have in one era alone.
fn with_other_era(mut all: ServerCapabilities) -> ServerCapabilities {
    if let Some(resources) = &mut all.resources {
        resources.subscribe = true;
    }
    all.with_tasks().with_task_extension()
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
    use std::sync::Arc;

    use protomcp_client::{Mode, ServerView};
    use protomcp_types::ProtocolVersion;

    use super::*;
    use crate::upstream::Upstream;

    fn view(capabilities: ServerCapabilities, instructions: Option<&str>) -> Arc<ServerView> {
        Arc::new(ServerView {
            version: ProtocolVersion::V2025_11_25,
            implementation: Some(Implementation::new("s", "7")),
            capabilities: Some(capabilities),
            instructions: instructions.map(str::to_owned),
        })
    }

    /// A server that has described itself in sessions of these eras.
    fn server(name: &str, eras: Mode, views: &[&Arc<ServerView>]) -> Described {
        let upstream = Upstream::new(name.to_owned(), || async { Err("not called".into()) }).mode(eras);
        let mut server = Described::new(&upstream);
        for view in views {
            server.learn(Era::of_server(view), view);
        }
        server
    }

    fn info(servers: &[Described]) -> ServerInfo {
        describe(servers, Era::Stateful, &Implementation::new("g", "1"))
    }

    fn text(servers: &[Described], era: Era) -> String {
        serde_json::to_string(&describe(servers, era, &Implementation::new("g", "1")).capabilities).unwrap()
    }

    #[test]
    fn a_single_server_is_passed_on() {
        let one = view(ServerCapabilities::default().with_tools(), Some("be kind"));
        let servers = [server("a", Mode::Stateful, &[&one])];
        let info = info(&servers);
        assert_eq!((info.implementation.name.as_str(), info.instructions.as_deref()), ("s", Some("be kind")));
        for era in [Era::Stateful, Era::Stateless] {
            assert_eq!(text(&servers, era), r#"{"logging":{},"tools":{"listChanged":true}}"#);
        }
    }

    #[test]
    fn several_servers_are_one_with_the_union() {
        let one = view(ServerCapabilities::default().with_tools(), Some("be kind"));
        let unchanging = Some(ListCapability::default());
        let two =
            view(ServerCapabilities { resources: unchanging, ..ServerCapabilities::default().with_tasks() }, None);
        let (one, two) = (server("a", Mode::Stateful, &[&one]), server("b", Mode::Stateful, &[&two]));
        let info = info(&[one.clone(), two]);
        assert_eq!((info.implementation.name.as_str(), info.instructions.as_deref()), ("g", Some("a: be kind")));
        let can = info.capabilities;
        assert!(can.tools.is_some() && can.tasks.is_some() && can.prompts.is_none() && can.logging.is_some());
        assert_eq!(can.resources, Some(ListCapability { list_changed: true, subscribe: false }));
        let with_unknown = text(&[one.clone(), server("b", Mode::Stateful, &[])], Era::Stateful);
        assert_eq!(text(&[one.that_changes()], Era::Stateful), with_unknown);
        for name in ["tools", "resources", "prompts", "completions", "logging", "tasks", TASKS_EXTENSION] {
            assert!(with_unknown.contains(name), "{name} in {with_unknown}");
        }
    }

    #[test]
    fn the_skills_of_a_single_server_are_declared() {
        let settings = RawJson::parse(r#"{"directoryRead":true}"#).unwrap();
        let with_skills = view(ServerCapabilities::default().with_extension(SKILLS_EXTENSION, settings), None);
        let skilled = server("a", Mode::Stateful, &[&with_skills]);
        let declared = r#""extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}"#;
        let alone = text(std::slice::from_ref(&skilled), Era::Stateless);
        assert!(alone.contains(declared), "{alone}");
        let other = view(ServerCapabilities::default(), None);
        let both = text(&[skilled, server("b", Mode::Stateful, &[&other])], Era::Stateless);
        assert!(!both.contains(SKILLS_EXTENSION), "{both}");
    }

    #[test]
    fn each_era_has_the_capabilities_of_the_server_in_it() {
        let stateful = view(ServerCapabilities::default().with_resources(), None);
        let in_other = ServerCapabilities { resources: Some(ListCapability::default()), ..Default::default() };
        let in_other = ServerView { version: ProtocolVersion::V2026_07_28, ..(*view(in_other, None)).clone() };
        let stateless = Arc::new(in_other);
        let with_subscriptions = r#""resources":{"listChanged":true,"subscribe":true}"#;
        let server = |views: &[&Arc<ServerView>]| server("a", Mode::Auto, views);
        // Until the era is known, subscriptions, tasks and, without sessions, skills may exist in it.
        for (known, other) in [(&stateful, Era::Stateless), (&stateless, Era::Stateful)] {
            let unknown = text(&[server(&[known])], other);
            assert!(unknown.contains(with_subscriptions) && unknown.contains(TASKS_EXTENSION), "{unknown}");
            assert_eq!(unknown.contains(SKILLS_EXTENSION), other == Era::Stateless, "{unknown}");
        }
        let both = [server(&[&stateful, &stateless])];
        assert_eq!(text(&both, Era::Stateful), format!(r#"{{"logging":{{}},{with_subscriptions}}}"#));
        assert_eq!(text(&both, Era::Stateless), r#"{"logging":{},"resources":{"listChanged":true}}"#);
        // A server that lacks an era is spoken to in the other one.
        let mut one_era = server(&[&stateful]);
        assert!(one_era.learn(Era::Stateless, &stateful));
        assert_eq!(text(&[one_era], Era::Stateless), format!(r#"{{"logging":{{}},{with_subscriptions}}}"#));
    }
}
