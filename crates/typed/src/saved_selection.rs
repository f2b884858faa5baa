//! The selection of a session as JSON, for a process that takes the session over.

use protomcp_toollist::{Command, Mode, Policy, Selection};
use protomcp_types::RawJson;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Saved {
    mode: SavedMode,
    names: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SavedMode {
    Open,
    Allow,
    Block,
}

/// The text of a selection.
pub(crate) fn to_json(selection: &Selection<String>) -> Option<RawJson> {
    let mode = match selection.mode() {
        Mode::Open => SavedMode::Open,
        Mode::Allow => SavedMode::Allow,
        Mode::Block => SavedMode::Block,
    };
    RawJson::of(&Saved { mode, names: selection.listed().cloned().collect() }).ok()
}

/// The selection with this text; `None`: it is none, or it has too many names.
pub(crate) fn from_json(text: &RawJson) -> Option<Selection<String>> {
    let Saved { mode, names } = text.to().ok()?;
    let (policy, disable) = match mode {
        SavedMode::Open => (Policy::Open, names),
        SavedMode::Allow => (Policy::Allow(names.into_iter().collect()), Vec::new()),
        SavedMode::Block => (Policy::Block(names.into_iter().collect()), Vec::new()),
    };
    let command = Command { policy: Some(policy), enable: Vec::new(), disable };
    let mut selection = Selection::open();
    selection.apply(&command).ok()?;
    Some(selection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_read_as_it_was_written() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for command in [
            Command::enable(Vec::new()),
            Command::disable(names(&["a", "b"])),
            Command::set_allowed(names(&["a"])),
            Command {
                policy: Some(Policy::Allow(names(&["a"]).into_iter().collect())),
                ..Command::disable(names(&["a"]))
            },
            Command::set_blocked(names(&["c", "\"d\""])),
        ] {
            let mut selection = Selection::open();
            selection.apply(&command).unwrap();
            let text = to_json(&selection).unwrap();
            assert_eq!(from_json(&text), Some(selection), "{text}");
        }
        for text in ["null", "{}", r#"{"mode":"other","names":[]}"#] {
            assert_eq!(from_json(&RawJson::parse(text).unwrap()), None, "{text}");
        }
    }
}
