//! The servers in the files of hosts.

use serde_json::Value;

/// A server in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// The program with its arguments. Empty for a server over HTTP.
    pub command: Vec<String>,
    /// The URL of a server over HTTP.
    pub url: Option<String>,
    /// True if this crate has inserted it, or if it runs `pmcp`.
    pub is_ours: bool,
}

/// The state of a host's file.
#[derive(Debug)]
pub struct Installed {
    /// The file.
    pub path: String,
    /// The result of reading it.
    pub found: Found,
}

/// The result of reading a file.
#[derive(Debug)]
pub enum Found {
    /// There is no file, and no directory for it: the host was not started yet, or is not installed.
    Nothing,
    /// There is a directory for the file, or the file.
    Servers(Vec<ListedServer>),
    /// The file cannot be read; the reason.
    Broken(String),
}

impl ListedServer {
    pub(crate) fn new(name: String, entry: &Value, is_recorded: bool) -> Self {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let words = |value: Option<&Value>| -> Vec<String> {
            match value {
                Some(Value::String(word)) => vec![word.clone()],
                Some(Value::Array(items)) => items.iter().filter_map(word).collect(),
                _ => Vec::new(),
            }
        };
        let mut command = words(entry.get("command"));
        command.extend(words(entry.get("args")));
        let url = ["url", "httpUrl", "serverUrl"].iter().find_map(|key| entry.get(key).and_then(word));
        let is_ours = is_recorded || command.first().is_some_and(|program| is_pmcp(program));
        Self { name, command, url, is_ours }
    }
}

/// True for the path of the command on any system.
fn is_pmcp(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name == "pmcp" || name.eq_ignore_ascii_case("pmcp.exe")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_of_all_shapes_are_read() {
        let listed = |entry| ListedServer::new("a".into(), &entry, false);
        let plain = listed(json!({"command": "/bin/pmcp", "args": ["dev", "/t.py"]}));
        assert_eq!((plain.command.join(" ").as_str(), plain.is_ours), ("/bin/pmcp dev /t.py", true));
        let array = listed(json!({"command": [r"C:\bin\PMCP.exe", "dev"]}));
        assert_eq!((array.command.len(), array.is_ours), (2, true));
        let url = listed(json!({"httpUrl": "http://localhost/mcp"}));
        assert_eq!((url.url.as_deref(), url.is_ours), (Some("http://localhost/mcp"), false));
        assert!(!listed(json!({"command": "/bin/npx"})).is_ours && !listed(json!(3)).is_ours);
        assert!(ListedServer::new("a".into(), &json!({"url": "x"}), true).is_ours);
    }
}
