//! Servers that `pmcp status` does not try.

use std::fmt;

use protomcp_install::{ListedServer, Recorded, Scope};

/// A reason not to try a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untried {
    /// `pmcp install` has not written the entry into the file of the project.
    NotRecorded,
    /// An older `pmcp install` has written an entry of this name, and did not record what it wrote.
    NameOnly,
    /// The entry of the project is not the one that `pmcp install` has written.
    Changed,
    /// The entry has a reference, which its host replaces.
    Reference,
}

/// The reason not to try a server; `None` for one that is tried. The file of a project may be the work of another person,
/// and changes with the project: only an entry that `pmcp install` has written, as it was written, is trusted. The user's
/// own file has what the user wants to run.
pub(super) fn untried(scope: &Scope, server: &ListedServer) -> Option<Untried> {
    match (scope, server.recorded) {
        (Scope::User, _) | (Scope::Project(_), Recorded::Same) => has_reference(server).then_some(Untried::Reference),
        (Scope::Project(_), Recorded::No) => Some(Untried::NotRecorded),
        (Scope::Project(_), Recorded::NameOnly) => Some(Untried::NameOnly),
        (Scope::Project(_), Recorded::Changed) => Some(Untried::Changed),
    }
}

/// True if a part of the entry has a reference.
fn has_reference(server: &ListedServer) -> bool {
    let values = server.env.iter().chain(&server.headers).map(|(_, value)| value);
    server.command.iter().chain(&server.url).chain(values).any(|text| is_reference(text))
}

/// True for a text that hosts replace, at least in part: `${NAME}` and `${env:NAME}` of most of them, `$NAME` of Gemini CLI
/// and Copilot CLI, `{env:NAME}` and `{file:PATH}` of opencode.
pub(super) fn is_reference(text: &str) -> bool {
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    ["${", "{env:", "{file:"].iter().any(|mark| text.contains(mark)) || text.strip_prefix('$').is_some_and(is_name)
}

impl fmt::Display for Untried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not tried: ")?;
        f.write_str(match self {
            Self::NotRecorded => {
                "pmcp install has not written it into this project; look at the entry, and run \
                 pmcp install to have it tried"
            }
            Self::NameOnly => {
                "the record of an older pmcp has its name alone; look at the entry, and run pmcp install again"
            }
            Self::Changed => {
                "the entry is not the one that pmcp install has written; look at it, and run pmcp install again"
            }
            Self::Reference => {
                "its entry has a reference such as ${NAME}, which the host replaces and pmcp does \
                 not; look at it in the host"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(recorded: Recorded, command: &[&str]) -> ListedServer {
        ListedServer {
            name: "a".into(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            env: Vec::new(),
            url: None,
            headers: Vec::new(),
            recorded,
            is_ours: true,
        }
    }

    #[test]
    fn an_entry_of_a_project_is_tried_as_it_was_written() {
        let project = Scope::Project("/p".into());
        for (recorded, of_user, of_project) in [
            (Recorded::Same, None, None),
            (Recorded::Changed, None, Some(Untried::Changed)),
            (Recorded::NameOnly, None, Some(Untried::NameOnly)),
            (Recorded::No, None, Some(Untried::NotRecorded)),
        ] {
            let server = server(recorded, &["/bin/pmcp", "run", "/t.py"]);
            assert_eq!(untried(&Scope::User, &server), of_user, "{recorded:?}");
            assert_eq!(untried(&project, &server), of_project, "{recorded:?}");
        }
    }

    #[test]
    fn an_entry_with_a_reference_is_not_tried() {
        for (text, expected) in [
            ("${HOME}/t.py", true),
            ("Bearer ${input:key}", true),
            ("{env:KEY}", true),
            ("{file:~/key}", true),
            ("$KEY", true),
            ("$", false),
            ("cost: $5", false),
            ("$1.50", false),
            ("{\"env\": 1}", false),
            ("a$b", false),
        ] {
            assert_eq!(is_reference(text), expected, "{text}");
            let plain = server(Recorded::Same, &["pmcp"]);
            let pair = vec![("NAME".to_owned(), text.to_owned())];
            for server in [
                ListedServer { command: vec!["pmcp".into(), text.into()], ..plain.clone() },
                ListedServer { env: pair.clone(), ..plain.clone() },
                ListedServer { headers: pair.clone(), ..plain.clone() },
                ListedServer { url: Some(text.into()), ..plain.clone() },
            ] {
                let reason = untried(&Scope::User, &server);
                assert_eq!(reason, expected.then_some(Untried::Reference), "{server:?}");
            }
        }
    }
}
