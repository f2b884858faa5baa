//! The trial start of a tool file that was installed: a host would show its failure as a server without tools.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use protomcp_install::{ListedServer, Server};

use crate::args::install::Installable;
use crate::install::probe::{self, Answer, Attempt};
use crate::install::secrets::Secrets;
use crate::shell_word::shell_word;

/// The time for the file to start.
const LIMIT: Duration = Duration::from_secs(10);

/// The flags of `dev` that decide how the process of a file is started.
const START_FLAGS: [&str; 2] = ["--runtime", "--sdk"];

/// Starts the file once, with the program and the variables of the entry, and lists its tools. Returns a warning if that
/// fails, or if there are none. `variables`: the ones that the host passes on; `None` for all of this shell.
pub(super) fn warning(
    installable: &Installable,
    server: &Server,
    variables: Option<&[(String, String)]>,
) -> Option<String> {
    let Server::Command { program, env, .. } = server else { return None };
    let listed = ListedServer::of("", server);
    let (path, flags) = match installable {
        Installable::File { path, flags, .. } => (path, flags),
        Installable::Command { .. } => {
            let reason = failure(&listed, variables)?;
            return Some(format!("the host will show no tools until the command works: {reason}"));
        }
        Installable::Url { .. } => return None,
    };
    let mut command = Command::new(program);
    let limit = format!("{}s", LIMIT.as_secs());
    command.arg("list").arg(path).args(["--quiet", "--timeout", limit.as_str()]).args(start_flags(flags));
    if let Some(variables) = variables {
        command.env_clear().envs(variables.iter().cloned());
    }
    command.envs(env.iter().cloned());
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output().ok()?;
    let reason = Secrets::of(&listed).text(&String::from_utf8_lossy(&output.stderr));
    let reason = reason.trim();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    let file = shell_word(&path.to_string_lossy());
    if output.status.success() {
        let has_tools = !output.stdout.trim_ascii().is_empty();
        return (!has_tools).then(|| format!("{file} starts, and the host will show no tools: it lists none"));
    }
    Some(if began.elapsed() >= LIMIT {
        format!(
            "{file} did not start within {limit}, which is all that this command waits; the host may wait longer: {reason}\n\
             `pmcp doctor {file}` shows how long it takes"
        )
    } else {
        format!("the host will show no tools until {file} starts: {reason}\n`pmcp doctor {file}` looks for the cause")
    })
}

/// The reason for which a command does not list its tools.
fn failure(server: &ListedServer, variables: Option<&[(String, String)]>) -> Option<String> {
    let attempt = Attempt { server, variables: variables.map(<[_]>::to_vec) };
    match probe::answers(&[attempt]).ok()?.pop()? {
        Answer::Fails(reason) => Some(reason),
        Answer::Tools(..) | Answer::SignIn | Answer::Untried(_) => None,
    }
}

/// The flags of [`START_FLAGS`] among `flags`, each with its value.
fn start_flags(flags: &[String]) -> Vec<&String> {
    let mut found = Vec::new();
    let mut words = flags.iter();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if START_FLAGS.contains(&name) {
            found.push(word);
            if name == word {
                found.extend(words.next());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_start_are_found_in_both_forms() {
        for (flags, found) in [
            ("--call-timeout 1s --runtime python3 --lazy-tools", "--runtime python3"),
            ("--sdk=bundled --runtime=uv", "--sdk=bundled --runtime=uv"),
            ("--runtime", "--runtime"),
            ("--name runtime", ""),
        ] {
            let flags: Vec<_> = flags.split(' ').map(str::to_owned).collect();
            let words: Vec<_> = start_flags(&flags).into_iter().map(String::as_str).collect();
            assert_eq!(words.join(" "), found);
        }
    }
}
