//! The arguments of the three tools. The error is a text for the model.

use protomcp_schema::did_you_mean;
use protomcp_types::{CallTool, JsonObject, Kind, RawJson};

use crate::layer::lazy_tools::meta_tool::{MAX_DESCRIBED, MAX_RESULTS};

/// The arguments of `search_tools`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// Without a word: all tools are listed.
    pub(super) query: String,
    pub(super) limit: Option<usize>,
    pub(super) after: String,
}

/// The arguments of `call_tool`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) name: String,
    /// The arguments in the request.
    pub(super) arguments: Option<RawJson>,
}

impl Search {
    pub(super) fn read(call: &CallTool) -> Result<Self, String> {
        let mut members = members(call, &["query", "limit", "after"])?;
        Ok(Self {
            query: text(&mut members, "query")?.unwrap_or_default(),
            limit: limit(&mut members)?,
            after: text(&mut members, "after")?.unwrap_or_default(),
        })
    }
}

/// The arguments of `describe_tools`: names, each once.
pub(super) fn names(call: &CallTool) -> Result<Vec<String>, String> {
    let mut members = members(call, &["names"])?;
    let names = present(&mut members, "names").and_then(|names| names.to::<Vec<String>>().ok());
    let mut names = names.ok_or("\"names\" must be an array of names of tools")?;
    if names.is_empty() || names.len() > MAX_DESCRIBED {
        return Err(format!("\"names\" has {} names; 1 to {MAX_DESCRIBED} are allowed", names.len()));
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

impl Passed {
    pub(super) fn read(call: &CallTool) -> Result<Self, String> {
        let mut members = match members(call, &["name", "arguments"]) {
            Ok(members) => members,
            Err(why) => return Err(format!("{why}. The tool's own arguments belong into \"arguments\"")),
        };
        let name = text(&mut members, "name")?.ok_or("\"name\", the name of a tool, is missing")?;
        match present(&mut members, "arguments") {
            Some(arguments) if arguments.kind() != Kind::Object => Err("\"arguments\" must be an object".to_owned()),
            arguments => Ok(Self { name, arguments }),
        }
    }
}

/// The members of the arguments, all of which are known.
fn members(call: &CallTool, known: &[&str]) -> Result<JsonObject, String> {
    let read = JsonObject::from_raw(&call.arguments_or_empty());
    let members = read.map_err(|error| format!("the arguments cannot be read: {error}"))?;
    if let Some((name, _)) = members.iter().find(|(name, _)| !known.contains(name)) {
        let hint = did_you_mean(name, known.iter().copied());
        return Err(format!("{:?} has no argument {name:?}{hint}", call.name));
    }
    Ok(members)
}

/// A member that is not null.
fn present(members: &mut JsonObject, name: &str) -> Option<RawJson> {
    members.take(name).filter(|value| value.kind() != Kind::Null)
}

fn text(members: &mut JsonObject, name: &str) -> Result<Option<String>, String> {
    let value = present(members, name).map(|value| value.to::<String>()).transpose();
    value.map_err(|_| format!("{name:?} must be a text"))
}

/// JSON has one kind of number: `5.0` is an integer.
fn limit(members: &mut JsonObject) -> Result<Option<usize>, String> {
    let Some(value) = present(members, "limit") else { return Ok(None) };
    let found = value.to::<f64>().ok().and_then(|number| (1..=MAX_RESULTS).find(|limit| *limit as f64 == number));
    found.map(Some).ok_or_else(|| format!("\"limit\" must be an integer from 1 to {MAX_RESULTS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &'static str) -> CallTool {
        CallTool::new("t").with_arguments(RawJson::parse(arguments).unwrap())
    }

    #[test]
    fn a_search_has_words_a_limit_and_a_place_to_go_on() {
        let search = |query: &str, limit, after: &str| Search { query: query.into(), limit, after: after.into() };
        for (arguments, expected) in [
            ("{}", Ok(search("", None, ""))),
            (r#"{"query":null,"limit":null}"#, Ok(search("", None, ""))),
            (r#"{"query":"a b","limit":5.0}"#, Ok(search("a b", Some(5), ""))),
            (r#"{"after":"x","limit":100}"#, Ok(search("", Some(100), "x"))),
            (r#"{"query":["a"]}"#, Err(r#""query" must be a text"#)),
            (r#"{"limit":0}"#, Err(r#""limit" must be an integer from 1 to 100"#)),
            (r#"{"limit":1.5}"#, Err(r#""limit" must be an integer from 1 to 100"#)),
            (r#"{"limit":101}"#, Err(r#""limit" must be an integer from 1 to 100"#)),
            (r#"{"qeury":"a"}"#, Err(r#""t" has no argument "qeury"; did you mean "query"?"#)),
        ] {
            assert_eq!(Search::read(&call(arguments)), expected.map_err(str::to_owned), "{arguments}");
        }
        assert_eq!(Search::read(&CallTool::new("t")), Ok(search("", None, "")));
    }

    #[test]
    fn tools_to_describe_are_named() {
        for (arguments, expected) in [
            (r#"{"names":["a","b","a"]}"#, Ok(vec!["a".to_owned(), "b".to_owned()])),
            (r#"{"names":[]}"#, Err(r#""names" has 0 names; 1 to 20 are allowed"#)),
            (r#"{"names":"a"}"#, Err(r#""names" must be an array of names of tools"#)),
            ("{}", Err(r#""names" must be an array of names of tools"#)),
        ] {
            assert_eq!(names(&call(arguments)), expected.map_err(str::to_owned), "{arguments}");
        }
        let many = serde_json::json!({ "names": (0..21).map(|n| n.to_string()).collect::<Vec<_>>() });
        let many = CallTool::new("t").with_arguments(RawJson::of(&many).unwrap());
        assert_eq!(names(&many), Err(r#""names" has 21 names; 1 to 20 are allowed"#.to_owned()));
    }

    #[test]
    fn the_arguments_of_the_tool_are_passed_as_they_are() {
        let passed = Passed::read(&call(r#"{"name":"a","arguments":{ "n":9007199254740993 }}"#)).unwrap();
        assert_eq!((passed.name.as_str(), passed.arguments.unwrap().as_str()), ("a", r#"{ "n":9007199254740993 }"#));
        assert_eq!(Passed::read(&call(r#"{"name":"a","arguments":null}"#)).unwrap().arguments, None);
        for (arguments, expected) in [
            ("{}", r#""name", the name of a tool, is missing"#),
            (r#"{"name":7}"#, r#""name" must be a text"#),
            (r#"{"name":"a","arguments":"{}"}"#, r#""arguments" must be an object"#),
            (r#"{"name":"a","x":1}"#, r#""t" has no argument "x". The tool's own arguments belong into "arguments""#),
        ] {
            assert_eq!(Passed::read(&call(arguments)), Err(expected.to_owned()), "{arguments}");
        }
    }
}
