//! The servers in the files of hosts.

use std::path::Path;

use serde_json::Value;

use crate::entry::Server;
use crate::receipts::Recorded;

/// A server in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// The program with its arguments. Empty for a server over HTTP.
    pub command: Vec<String>,
    /// The environment variables that the entry sets.
    pub env: Vec<(String, String)>,
    /// The URL of a server over HTTP.
    pub url: Option<String>,
    /// The header fields of requests to the URL.
    pub headers: Vec<(String, String)>,
    /// The entry, compared with the record of it.
    pub recorded: Recorded,
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
    pub(crate) fn new(name: String, entry: &Value, recorded: Recorded) -> Self {
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
        let pairs = |keys: &[&str]| -> Vec<(String, String)> {
            let object = keys.iter().find_map(|key| entry.get(key)?.as_object());
            let pair = |(key, value): (&String, &Value)| Some((key.clone(), word(value)?));
            object.into_iter().flatten().filter_map(pair).collect()
        };
        let (env, headers) = (pairs(&["env", "environment", "envs"]), pairs(&["headers", "http_headers"]));
        let is_ours = recorded != Recorded::No || command.first().is_some_and(|program| is_pmcp(program));
        Self { name, command, env, url, headers, recorded, is_ours }
    }

    /// True if this crate has inserted an entry of this name. It may have been changed since.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.recorded != Recorded::No
    }

    /// True if it starts the file, the command or the URL of this server. Flags may differ.
    pub(crate) fn starts_as(&self, server: &Server) -> bool {
        let command: Vec<_>;
        let other = match server {
            Server::Command { program, args, .. } => {
                command = [program].into_iter().chain(args).cloned().collect();
                target(&command, None)
            }
            Server::Url { url, .. } => target(&[], Some(url)),
        };
        target(&self.command, self.url.as_deref()) == other
    }

    /// True if it is at this URL. A slash at the end of the path makes no difference, nor does the default port, nor do
    /// capitals in the scheme and the host (RFC 3986, 6.2).
    #[must_use]
    pub fn is_at(&self, url: &str) -> bool {
        let own = target(&self.command, self.url.as_deref());
        matches!(own, Target::Url(own) if place(own) == place(url))
    }

    /// The files that it starts: the tool file of `pmcp`, or the program of another command and the first path after it that
    /// does not belong to a flag, if they are absolute.
    #[must_use]
    pub fn files(&self) -> Vec<&Path> {
        match target(&self.command, self.url.as_deref()) {
            Target::Url(_) => Vec::new(),
            Target::File(file) => vec![Path::new(file)],
            Target::Command(words) => started(words).map(Path::new).filter(|path| path.is_absolute()).collect(),
        }
    }

    /// A server as its entry has it, once this crate has inserted it.
    #[must_use]
    pub fn of(name: &str, server: &Server) -> Self {
        let mut listed = Self {
            name: name.to_owned(),
            command: Vec::new(),
            env: Vec::new(),
            url: None,
            headers: Vec::new(),
            recorded: Recorded::Same,
            is_ours: true,
        };
        match server {
            Server::Command { program, args, env } => {
                listed.command = [program].into_iter().chain(args).cloned().collect();
                listed.env.clone_from(env);
            }
            Server::Url { url, headers } => {
                listed.url = Some(url.clone());
                listed.headers.clone_from(headers);
            }
        }
        listed
    }

    /// Its command for people, word by word, with `[redacted]` in place of all that may be a secret: the word after a
    /// flag, the value of `NAME=VALUE`, of `--flag=VALUE` and of `-kVALUE`. URLs have no user, no query and no fragment.
    #[must_use]
    pub fn shown_command(&self) -> Vec<String> {
        let mut is_value = false;
        let shown = |word: &String| {
            let is_flag = word.starts_with('-');
            let is_after_flag = std::mem::replace(&mut is_value, takes_value(word)) && !is_flag;
            shown_word(word, is_after_flag)
        };
        self.command.iter().map(shown).collect()
    }

    /// Its URL for people, without user, query and fragment.
    #[must_use]
    pub fn shown_url(&self) -> Option<String> {
        self.url.as_deref().map(without_secrets)
    }

    /// The thing that it starts, for people, without what may be a secret. It ends before the first flag.
    pub(crate) fn shown(&self) -> String {
        let is_assignment = |word: &str| word.contains('=') && !word.contains("://");
        let is_plain = |word: &str| ["-y", "-m"].contains(&word) || !word.starts_with('-') && !is_assignment(word);
        match (target(&self.command, self.url.as_deref()), &self.command[..]) {
            (Target::Url(url), _) => without_secrets(url),
            (Target::Command([]), _) => "nothing that pmcp knows".to_owned(),
            (_, words) => {
                let plain = words.iter().skip(1).take_while(|word| is_plain(word)).count();
                self.shown_command().into_iter().take(plain + 1).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The part of an entry that decides whether two are for the same server.
#[derive(Debug, PartialEq, Eq)]
enum Target<'a> {
    File(&'a str),
    Command(&'a [String]),
    Url(&'a str),
}

fn target<'a>(command: &'a [String], url: Option<&'a str>) -> Target<'a> {
    let verbs = ["dev", "run"];
    match (url, command) {
        (Some(url), _) => Target::Url(url),
        (None, [program, verb, args @ ..]) if is_pmcp(program) && verbs.contains(&verb.as_str()) => of_pmcp(args),
        (None, command) => Target::Command(command),
    }
}

/// The program of a command, and the file that it reads if it is an interpreter: the first path that is not the value of a
/// flag. A path after a flag is its value if another path follows; flags of one letter, such as `-u` of Python, have no
/// value, except `-r` of Node.
fn started(words: &[String]) -> impl Iterator<Item = &str> {
    let has_value = |flag: &str| flag == "-r" || flag.starts_with("--") && takes_value(flag);
    let mut paths = words.windows(2).filter(|pair| Path::new(&pair[1]).is_absolute());
    let file = paths.clone().find(|pair| !has_value(&pair[0])).or_else(|| paths.next_back()).map(|pair| &pair[1]);
    words.first().into_iter().chain(file).map(String::as_str)
}

/// The target of `pmcp dev` and `pmcp run`, as this program writes their arguments.
fn of_pmcp(args: &[String]) -> Target<'_> {
    match args {
        [flag, url, ..] if flag == "--upstream" => Target::Url(url),
        [file, ..] if !file.starts_with('-') => Target::File(file),
        args => match args.iter().position(|word| word == "--") {
            Some(at) => Target::Command(&args[at + 1..]),
            None => Target::Command(args),
        },
    }
}

/// The scheme, the authority, the path and the rest of a URL in one spelling: the scheme and the host in lower case,
/// without the default port of the scheme and without a slash at the end of the path (RFC 3986, 6.2.2 and 6.2.3).
fn place(url: &str) -> (String, String, &str, &str) {
    let (url, rest) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
    let (scheme, url) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = url.split_at(url.find('/').unwrap_or(url.len()));
    let (user, host) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    let port = match scheme.as_str() {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        _ => "",
    };
    let authority = format!("{user}{}", host.strip_suffix(port).unwrap_or(&host));
    (scheme, authority, path.strip_suffix('/').unwrap_or(path), rest)
}

/// A URL without its user, its query and its fragment.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

/// The text in place of what may be a secret.
const HIDDEN: &str = "[redacted]";

/// The shortest value that counts as one if it is written with its flag, in bytes: `-vvv` has none.
const MIN_ATTACHED: usize = 4;

/// True for a flag whose value may be the next word.
fn takes_value(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && !["-y", "-m", "--"].contains(&word)
}

/// The value that is written with a flag of one letter, as in `-kVALUE`. Some programs have flags such as `-stdio`, which
/// nothing tells from a value.
fn attached(word: &str) -> Option<(&str, &str)> {
    let is_flag = word.starts_with('-') && !word.starts_with("--") && !word.contains('=');
    let (flag, value) = word.split_at_checked(2).filter(|_| is_flag)?;
    (value.len() >= MIN_ATTACHED).then_some((flag, value))
}

/// A word of a command without what may be a secret.
fn shown_word(word: &str, is_after_flag: bool) -> String {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    match word.split_once('=').filter(|(name, _)| !name.is_empty() && is_name(name)) {
        _ if ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme)) => without_secrets(word),
        _ if is_after_flag => HIDDEN.to_owned(),
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None if word.contains("://") => without_secrets(word),
        None => attached(word).map_or_else(|| word.to_owned(), |(flag, _)| format!("{flag}{HIDDEN}")),
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
        let listed = |entry| ListedServer::new("a".into(), &entry, Recorded::No);
        let plain = listed(json!({"command": "/bin/pmcp", "args": ["dev", "/t.py"]}));
        assert_eq!((plain.command.join(" ").as_str(), plain.is_ours), ("/bin/pmcp dev /t.py", true));
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for key in ["env", "environment", "envs"] {
            assert_eq!(listed(json!({"command": "x", key: {"A": "b", "N": null}})).env, pair("A", "b"));
        }
        for key in ["headers", "http_headers"] {
            assert_eq!(listed(json!({"url": "x", key: {"A": "b"}})).headers, pair("A", "b"));
        }
        let array = listed(json!({"command": [r"C:\bin\PMCP.exe", "dev"]}));
        assert_eq!((array.command.len(), array.is_ours), (2, true));
        let url = listed(json!({"httpUrl": "http://localhost/mcp"}));
        assert_eq!((url.url.as_deref(), url.is_ours), (Some("http://localhost/mcp"), false));
        assert!(!listed(json!({"command": "/bin/npx"})).is_ours && !listed(json!(3)).is_ours);
        assert!(ListedServer::new("a".into(), &json!({"url": "x"}), Recorded::Changed).is_ours);
    }

    #[test]
    fn entries_are_for_one_server_if_they_start_the_same() {
        let file = |args: &[&str]| Server::Command {
            program: "/bin/pmcp".into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
        };
        let url = Server::Url { url: "https://h/mcp".into(), headers: Vec::new() };
        for (entry, server, is_same) in [
            (json!({"command": "/old/pmcp", "args": ["run", "/t.py", "--quiet"]}), file(&["dev", "/t.py"]), true),
            (json!({"command": "/bin/pmcp", "args": ["dev", "/b/t.py"]}), file(&["dev", "/a/t.py"]), false),
            (json!({"command": ["/bin/pmcp", "dev", "/t.py"]}), file(&["dev", "/t.py"]), true),
            (json!({"command": "npx", "args": ["dev", "/t.py"]}), file(&["dev", "/t.py"]), false),
            (json!({"command": "pmcp", "args": ["run", "--upstream", "https://h/mcp"]}), url.clone(), true),
            (json!({"url": "https://h/other"}), url.clone(), false),
            (json!({"serverUrl": "https://h/mcp"}), url, true),
            (
                json!({"command": "pmcp", "args": ["run", "--", "/bin/x"]}),
                file(&["dev", "--quiet", "--", "/bin/x"]),
                true,
            ),
            (json!({"command": "pmcp", "args": ["run", "--", "/bin/x"]}), file(&["dev", "--", "/bin/x", "-a"]), false),
        ] {
            let listed = ListedServer::new("a".into(), &entry, Recorded::Same);
            assert_eq!(listed.starts_as(&server), is_same, "{entry} {server:?}");
        }
    }

    #[test]
    fn a_command_starts_a_program_and_a_file() {
        for (words, files) in [
            ("pmcp run /t.py --watch /data", &["/t.py"][..]),
            ("/bin/python3 /t.py /data", &["/bin/python3", "/t.py"]),
            ("python3 -u /t.py /data", &["/t.py"]),
            ("pmcp run -- /bin/node --import /a.js /t.js", &["/bin/node", "/t.js"]),
            ("node -r /a.js --import /b.js /t.js", &["/t.js"]),
            ("node --enable-source-maps /t.js", &["/t.js"]),
            ("npx -y server", &[]),
        ] {
            let words: Vec<_> = words.split(' ').collect();
            let listed = ListedServer::new("a".into(), &json!({"command": words}), Recorded::No);
            assert_eq!(listed.files(), files.iter().map(Path::new).collect::<Vec<_>>(), "{words:?}");
        }
    }

    #[test]
    fn a_url_may_be_spelled_in_several_ways() {
        for (entry, url, is_at) in [
            (json!({"url": "https://h/mcp"}), "https://h/mcp", true),
            (json!({"url": "https://h/mcp"}), "https://h/mcp/", true),
            (json!({"url": "https://h/mcp/"}), "https://h/mcp", true),
            (json!({"url": "https://h/mcp/?k=x"}), "https://h/mcp?k=x", true),
            (json!({"command": "pmcp", "args": ["run", "--upstream", "https://h"]}), "https://h/", true),
            (json!({"url": "https://h"}), "HTTPS://H:443/", true),
            (json!({"url": "http://H:80/mcp"}), "http://h/mcp", true),
            (json!({"command": "pmcp", "args": ["run", "--upstream", "ws://h:80"]}), "ws://h", true),
            (json!({"command": "pmcp", "args": ["run", "--upstream", "wss://h:443"]}), "wss://h", true),
            (json!({"command": "pmcp", "args": ["run", "--upstream", "ws://h:443"]}), "ws://h", false),
            (json!({"url": "https://Ann@h/mcp"}), "https://ann@h/mcp", false),
            (json!({"url": "http://h:443/mcp"}), "http://h/mcp", false),
            (json!({"url": "https://h/mcp"}), "https://h/Mcp", false),
            (json!({"url": "https://h/mcp"}), "https://h/mcp/other", false),
            (json!({"url": "https://h/mcp?k=/"}), "https://h/mcp?k=", false),
            (json!({"command": "pmcp", "args": ["run", "/t.py"]}), "/t.py/", false),
        ] {
            assert_eq!(ListedServer::new("a".into(), &entry, Recorded::No).is_at(url), is_at, "{entry} {url}");
        }
    }

    #[test]
    fn an_entry_is_shown_without_secrets() {
        for (entry, shown) in [
            (json!({"command": "pmcp", "args": ["run", "theirs.py"]}), "pmcp run theirs.py"),
            (json!({"command": "npx", "args": ["-y", "server", "--key", "x"]}), "npx -y server"),
            (json!({"command": "env", "args": ["KEY=x", "server"]}), "env"),
            (json!({"command": "psql-mcp", "args": ["postgres://ann:x@h/d?k=x", "-px"]}), "psql-mcp postgres://h/d"),
            (
                json!({"command": "npx", "args": ["-y", "https://ann:x@h/s.tgz", "theirs"]}),
                "npx -y https://h/s.tgz theirs",
            ),
            (json!({"command": "KEY=x", "args": ["server"]}), "KEY=[redacted] server"),
            (json!({"url": "https://ann:x@h:1/mcp?key=x#y"}), "https://h:1/mcp"),
            (json!({"command": "pmcp", "args": ["run", "--upstream", "http://h?x", "--header", "x"]}), "http://h"),
            (json!(3), "nothing that pmcp knows"),
        ] {
            assert_eq!(ListedServer::new("a".into(), &entry, Recorded::No).shown(), shown, "{entry}");
        }
    }

    #[test]
    fn a_command_is_shown_without_values() {
        for (words, shown) in [
            ("/a=b/pmcp dev /c=d/t.py", "/a=b/pmcp dev /c=d/t.py"),
            ("pmcp dev t.py --call-timeout 30s --quiet", "pmcp dev t.py --call-timeout [redacted] --quiet"),
            ("npx -y server --api-key=x y", "npx -y server --api-key=[redacted] y"),
            ("server -k x --key x y", "server -k [redacted] --key [redacted] y"),
            ("server -pgeheim -vvv -it y", "server -p[redacted] -vvv -it [redacted]"),
            ("env KEY=x python -m server", "env KEY=[redacted] python -m server"),
            ("pmcp run --upstream https://a:b@h/m?k=x", "pmcp run --upstream https://h/m"),
            ("pmcp run -- psql postgres://a:b@h/d", "pmcp run -- psql postgres://h/d"),
        ] {
            let words: Vec<_> = words.split(' ').collect();
            let listed = ListedServer::new("a".into(), &json!({"command": words}), Recorded::No);
            assert_eq!(listed.shown_command().join(" "), shown);
        }
        let args = vec!["run".to_owned(), "t.py".to_owned()];
        let server = Server::Command { program: "/bin/pmcp".into(), args, env: vec![("A".into(), "b".into())] };
        let listed = ListedServer::of("a", &server);
        assert!(listed.starts_as(&server) && listed.is_recorded() && listed.env.len() == 1, "{listed:?}");
        let url = Server::Url { url: "https://a:b@h/m?k=x#y".into(), headers: Vec::new() };
        assert_eq!(ListedServer::of("a", &url).shown_url().as_deref(), Some("https://h/m"));
    }
}
