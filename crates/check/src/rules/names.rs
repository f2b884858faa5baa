//! Names of tools, as models see them.

use std::collections::HashMap;

use crate::check::{Check, Cut, Side};
use crate::definition::{ToolDefinition, ToolSet};
use crate::fault::Fault;
use crate::pattern::Pattern;

pub(super) fn server(wanted: &Pattern, server: &str) -> Option<Fault> {
    let issue = || format!("the server name \"{server}\" does not match {wanted}");
    (!wanted.is_match(server)).then(|| Fault::new("server", issue(), "give the server a name without spaces"))
}

/// Tools whose names do not match. `names`: the ones that `run --for` serves them under, in their order.
pub(super) fn patterns<'a>(check: &Check, set: &'a ToolSet, names: &[Option<String>]) -> Vec<(&'a str, Fault)> {
    let Check::NamePattern { pattern } = check else { return Vec::new() };
    let is_refused = |tool: &ToolDefinition| tool.served.is_object() && !pattern.is_match(&tool.name);
    let refused = set.tools.iter().zip(names).filter(|(tool, _)| is_refused(tool));
    let fault = |(tool, name): (&'a ToolDefinition, &Option<String>)| {
        let issue = format!("\"{}\" does not match {pattern}", tool.name);
        let name = name.clone().unwrap_or_else(|| safe(&tool.name));
        (tool.name.as_str(), Fault::new("name", issue, format!("rename it, to \"{name}\" for example")))
    };
    refused.map(fault).collect()
}

pub(super) fn length(check: &Check, server: &str, name: &str) -> Option<Fault> {
    let Check::NameLength { template, server_max, max } = check else { return None };
    let server: String = server.chars().take(server_max.unwrap_or(usize::MAX)).collect();
    let seen = filled(template, &server, name);
    let count = seen.chars().count();
    let issue = || format!("the model sees \"{seen}\", {count} characters; {max} is the most");
    let fix = || format!("shorten the name by {}, or the name of the server (here \"{server}\")", count - max);
    (count > *max).then(|| Fault::new("name", issue(), fix()))
}

/// Tools whose names are the same to a host, each after an earlier one.
pub(super) fn collisions<'a>(check: &Check, set: &'a ToolSet) -> Vec<(&'a str, Fault)> {
    let Check::NameCollision { keep, replacement, cut, ignores_case } = check else { return Vec::new() };
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut found = Vec::new();
    for tool in &set.tools {
        let character =
            |c: char| if keep.is_match(c.encode_utf8(&mut [0; 4])) { c.to_string() } else { replacement.clone() };
        let mut name: String = tool.name.chars().map(character).collect();
        if let Some(Cut { template, max, side }) = cut {
            name = shortened(&filled(template, &set.server, &name), *max, *side);
        }
        if *ignores_case {
            name = name.to_lowercase();
        }
        match seen.get(&name) {
            // The same definition twice is a separate fault.
            Some(earlier) if *earlier == tool.name => {}
            Some(earlier) => {
                let issue = format!("it becomes \"{name}\", as \"{earlier}\" does");
                found.push((tool.name.as_str(), Fault::new("name", issue, "rename one of the two")));
            }
            None => _ = seen.insert(name, &tool.name),
        }
    }
    found
}

fn filled(template: &str, server: &str, tool: &str) -> String {
    template.replace("{server}", server).replace("{tool}", tool)
}

fn shortened(name: &str, max: usize, side: Side) -> String {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= max {
        return name.to_owned();
    }
    match side {
        Side::End => all[..max].iter().collect(),
        Side::Middle => {
            let half = max.saturating_sub(3) / 2;
            all[..half].iter().chain(&['.'; 3]).chain(&all[all.len() - half..]).collect()
        }
    }
}

/// The name in the form that every host takes: 40 characters of `[a-z][a-z0-9_]*`.
pub(super) fn safe(name: &str) -> String {
    let character = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().map(character).collect();
    let name = name.trim_matches('_');
    let head = if name.starts_with(|c: char| c.is_ascii_lowercase()) { "" } else { "t_" };
    format!("{head}{name}").chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_name_is_fine_everywhere() {
        for (name, expected) in
            [("get.weather", "get_weather"), ("GetIt", "getit"), ("2fast", "t_2fast"), ("/a b/", "a_b"), ("é", "t_")]
        {
            assert_eq!(safe(name), expected);
        }
        assert_eq!(safe(&"x".repeat(90)).len(), 40);
    }

    #[test]
    fn a_long_name_is_cut_at_the_end_or_in_the_middle() {
        assert_eq!(shortened("abcdefghij", 7, Side::End), "abcdefg");
        assert_eq!(shortened("abcdefghij", 7, Side::Middle), "ab...ij");
        assert_eq!(shortened("abc", 7, Side::Middle), "abc");
    }
}
