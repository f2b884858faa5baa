//! The tools as hosts see them, for the page of `pmcp playground`.

use protomcp_check::{Adaptation, HostSelection, Strictness, ToolDefinition, ToolSet, hosts, validate};
use protomcp_playground::HostViews;
use protomcp_types::RawJson;
use serde_json::{Value, json};

/// The views of all hosts that are known, which know the server under this name.
pub(super) fn all(server: &str) -> HostViews {
    let server = server.to_owned();
    let names = hosts().iter().map(|host| (host.id.clone(), host.label.clone()));
    HostViews::new(names, move |host, tools| view(&server, host, tools))
}

/// The adapted definitions, and the report about the ones of the server.
fn view(server: &str, host: &str, tools: &str) -> Result<Value, String> {
    let selection = HostSelection::default().with(host).map_err(|error| error.to_string())?;
    let page: Vec<RawJson> = serde_json::from_str(tools).map_err(|error| format!("no list of tools: {error}"))?;
    let adapted = Adaptation::new(&selection, server).definitions(&page);
    let tools = page.iter().map(ToolDefinition::listed).collect();
    let set = ToolSet { server: server.to_owned(), tools, ..ToolSet::default() };
    let report = validate(&set, Strictness::Usual, &selection).to_json();
    Ok(json!({"tools": adapted, "report": report}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_host_refuses_is_adapted_and_reported() {
        let tools = r#"[{"name":"group.get","inputSchema":{"type":"object"}}]"#;
        let seen = view("files", "anthropic", tools).unwrap();
        assert_eq!(seen["tools"][0]["name"], "group_get");
        assert_eq!(seen["report"]["findings"][0]["tool"], "group.get");
        assert!(view("files", "none", tools).unwrap_err().contains("unknown host"));
        assert!(view("files", "anthropic", "{}").unwrap_err().contains("no list of tools"));
    }
}
