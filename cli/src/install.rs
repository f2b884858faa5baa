//! `pmcp install`, `uninstall` and `status`: servers in the configuration of hosts.

pub(crate) mod configured;
mod known;
mod probe;
mod program;
mod report;
mod secrets;
mod server;
mod shell;
mod trial;
mod untried;

use std::collections::BTreeSet;

use protomcp_install::{
    Action, Edit, EditError, Found, Host, InstallError, Installed, Installer, ListedServer, Scope, host, hosts, snippet,
};
use protomcp_types::one_line;

use crate::args::install::{HostFlags, InstallOptions, Status, Uninstall};
use crate::exit::{self, Failure};
use crate::log::{self, LogFlags, LogLevel};
use crate::nearest::nearest;
use crate::waiting;
use probe::{Answer, Attempt};
use report::{Answers, Report};
use server::Servers;
use untried::untried;

/// The most servers that the error of `pmcp status` names, and the longest name in it, in characters.
const MAX_NAMES: usize = 10;
const MAX_NAME: usize = 64;

/// Adds a server to the files of hosts.
pub(crate) fn install(options: &InstallOptions) -> Result<(), Failure> {
    let installer = installer();
    let servers = Servers::new(&options.server)?;
    let chosen = Chosen::of(&options.hosts, &installer)?;
    log::start(LogLevel::Info, LogFlags::default());
    let mut report = Report::new(&installer);
    for name in &chosen.unknown {
        report.paste(None, name, snippet(None, &options.name, &servers.of(None)));
    }
    for host in chosen.hosts.iter().copied() {
        let server = servers.of(Some(host));
        if !host.takes_commands() {
            report.form(host, &server);
            continue;
        }
        if host.format.is_none() || installer.path(host, &chosen.scope).is_err() {
            report.paste(Some(host), host.id, snippet(Some(host), &options.name, &server));
            continue;
        }
        let action = Action::Install { name: options.name.clone(), server: server.clone(), replaces: options.replaces };
        match change(&installer, host, &chosen.scope, &action, options.dry_run) {
            Ok(edit) if options.dry_run => {
                let mut servers = listed(&installer, host, &chosen.scope);
                servers.push(ListedServer::of(&options.name, &server));
                report.dry_run(&servers, &edit);
            }
            Ok(edit) => report.installed(host, &options.name, &server, &edit),
            Err(error) => report.failed(host, &error),
        }
    }
    report.note(&servers.notes);
    report.finish()?;
    if let Some(warning) = servers.warning(chosen.all()) {
        tracing::warn!("{warning}");
    }
    // The entry stays: the file may start once its author has finished it.
    let host = chosen.poorest();
    let variables = server::inherited(host).variables(installer.environment());
    let attempt = || trial::warning(&options.server, &servers.of(host), variables.as_deref());
    if !options.dry_run
        && let Some(warning) = waiting::shown_blocking("trying to start it", attempt)
    {
        tracing::warn!("{warning}");
    }
    Ok(())
}

/// Removes a server from the files of hosts.
pub(crate) fn uninstall(options: &Uninstall) -> Result<(), Failure> {
    let installer = installer();
    let scope = scope(&options.hosts)?;
    let chosen = if options.hosts.clients.is_empty() {
        hosts().iter().collect()
    } else {
        Chosen::of(&options.hosts, &installer)?.hosts
    };
    log::start(LogLevel::Info, LogFlags::default());
    let mut report = Report::new(&installer);
    for host in chosen {
        let Ok(installed) = installer.status(host, &scope) else { continue };
        let listed = match installed.found {
            Found::Nothing => continue,
            // This command may have nothing to do with the file.
            Found::Broken(reason) if options.hosts.clients.is_empty() => {
                report::left_alone(host, &reason);
                continue;
            }
            Found::Broken(reason) => {
                report.broken(host, &reason);
                continue;
            }
            Found::Servers(listed) => listed,
        };
        for server in listed.iter().filter(|server| server::is_meant(server, &options.target)) {
            let action = Action::Uninstall { name: server.name.clone() };
            match change(&installer, host, &scope, &action, options.dry_run) {
                Ok(edit) if options.dry_run => report.dry_run(&listed, &edit),
                Ok(edit) => report.removed(host, &server.name, &edit),
                Err(InstallError::Edit { error: EditError::NotFound(_), .. }) => {}
                Err(error) => report.failed(host, &error),
            }
        }
    }
    if report.is_empty() {
        return Err(Failure::failed(format!(
            "no host has a server \"{}\" that runs pmcp; `pmcp status` prints those that there are",
            options.target
        )));
    }
    report.finish()
}

/// Prints the servers in the files of hosts, and whether they answer.
pub(crate) fn status(options: &Status) -> Result<(), Failure> {
    let installer = installer();
    let scope = scope(&options.hosts)?;
    let chosen = if options.hosts.clients.is_empty() {
        hosts().iter().collect()
    } else {
        Chosen::of(&options.hosts, &installer)?.hosts
    };
    let found: Vec<_> =
        chosen.into_iter().filter_map(|host| Some((host, installer.status(host, &scope).ok()?))).collect();
    let answers = if options.no_start { Answers::new() } else { answers(&installer, &scope, &found)? };
    let text = if options.json {
        report::status_json(&found, &answers)
    } else {
        report::status_text(&installer, &found, &answers)
    };
    exit::print(&exit::for_stdout(text))?;
    let does_fail = |(host, server): &(&Host, &ListedServer)| {
        let answer = answers.get(&(host.id, server.name.clone()));
        !report::problems(server).is_empty() || answer.is_some_and(Answer::is_failure)
    };
    let (failing, all) = (ours(&found).filter(does_fail).collect::<Vec<_>>(), ours(&found).count());
    let broken = found.iter().filter(|(_, installed)| matches!(installed.found, Found::Broken(_)));
    let broken: Vec<_> = broken.map(|(host, _)| host.label).collect();
    if options.no_start || failing.is_empty() && broken.is_empty() {
        return Ok(());
    }
    if failing.is_empty() {
        return Err(Failure::failed(format!("hosts whose files cannot be read: {}", broken.join(", "))));
    }
    Err(Failure::failed(format!("servers that do not answer: {} of {all}: {}", failing.len(), named(&failing))))
}

/// Names of servers with their hosts. A file may have any number of servers, and names of any length.
fn named(servers: &[(&Host, &ListedServer)]) -> String {
    let name = |(host, server): &(&Host, &ListedServer)| {
        let name: String = server.name.chars().take(MAX_NAME).collect();
        format!("{} in {}", one_line(&name), host.label)
    };
    let names: Vec<_> = servers.iter().take(MAX_NAMES).map(name).collect();
    match servers.len().saturating_sub(MAX_NAMES) {
        0 => names.join(", "),
        more => format!("{}, and {more} more", names.join(", ")),
    }
}

/// Tries the servers, except any that its host cannot start, and any that is not trusted.
fn answers(installer: &Installer, scope: &Scope, found: &[(&'static Host, Installed)]) -> Result<Answers, Failure> {
    let mut answers = Answers::new();
    let mut tried = Vec::new();
    for (host, server) in ours(found).filter(|(_, server)| report::problems(server).is_empty()) {
        match untried(scope, server) {
            None => tried.push((host, server)),
            Some(reason) => drop(answers.insert((host.id, server.name.clone()), Answer::Untried(reason))),
        }
    }
    let attempts = tried.iter().map(|(host, server)| {
        let variables = host.inherits.variables(installer.environment());
        Attempt { server, variables }
    });
    let tries = probe::answers(&attempts.collect::<Vec<_>>())?;
    answers
        .extend(tried.into_iter().zip(tries).map(|((host, server), answer)| ((host.id, server.name.clone()), answer)));
    Ok(answers)
}

/// The servers that run pmcp, with their hosts.
fn ours<'a>(found: &'a [(&'static Host, Installed)]) -> impl Iterator<Item = (&'static Host, &'a ListedServer)> {
    found.iter().flat_map(|(host, installed)| {
        let servers = match &installed.found {
            Found::Servers(servers) => servers.as_slice(),
            Found::Nothing | Found::Broken(_) => &[],
        };
        servers.iter().filter(|server| server.is_ours).map(move |server| (*host, server))
    })
}

/// The servers in the file of a host.
fn listed(installer: &Installer, host: &Host, scope: &Scope) -> Vec<ListedServer> {
    match installer.status(host, scope).map(|installed| installed.found) {
        Ok(Found::Servers(servers)) => servers,
        Ok(Found::Nothing | Found::Broken(_)) | Err(_) => Vec::new(),
    }
}

fn installer() -> Installer {
    Installer::new(protomcp_install::Environment::of_this_process())
}

fn change(
    installer: &Installer,
    host: &Host,
    scope: &Scope,
    action: &Action,
    dry_run: bool,
) -> Result<Edit, InstallError> {
    if dry_run { installer.prepare(host, scope, action) } else { installer.apply(host, scope, action) }
}

fn scope(flags: &HostFlags) -> Result<Scope, Failure> {
    if !flags.is_project() {
        return Ok(Scope::User);
    }
    let directory =
        std::env::current_dir().map_err(|error| Failure::failed(format!("no current directory: {error}")))?;
    let directory = directory.into_os_string().into_string();
    directory.map(Scope::Project).map_err(|_| Failure::usage("the name of the current directory is not UTF-8"))
}

/// The hosts of the command line.
struct Chosen {
    hosts: Vec<&'static Host>,
    /// Names that are not in the table.
    unknown: Vec<String>,
    scope: Scope,
}

impl Chosen {
    fn of(flags: &HostFlags, installer: &Installer) -> Result<Self, Failure> {
        let scope = scope(flags)?;
        let present: Vec<_> = hosts().iter().filter(|host| installer.is_present(host)).collect();
        let mut chosen = Self { hosts: Vec::new(), unknown: Vec::new(), scope };
        for name in &flags.clients {
            match host(name) {
                None if name.trim().is_empty() => {
                    return Err(Failure::usage(
                        "invalid --client: it is empty; name a host, or all for those on this machine",
                    ));
                }
                Some(host) => chosen.hosts.push(host),
                None if name == "all" => chosen.hosts.extend(&present),
                None => match near(name).as_slice() {
                    [] => chosen.unknown.push(name.clone()),
                    meant => {
                        let meant = meant.join(" or ");
                        return Err(Failure::usage(format!("unknown host \"{name}\"; did you mean {meant}?")));
                    }
                },
            }
        }
        if flags.clients.is_empty() {
            chosen.hosts.push(only(&present)?);
        } else if chosen.hosts.is_empty() && chosen.unknown.is_empty() {
            return Err(only(&[]).err().unwrap_or_else(|| Failure::failed("there is no host")));
        }
        let mut seen = BTreeSet::new();
        chosen.hosts.retain(|host| seen.insert(host.id));
        Ok(chosen)
    }

    /// The host that gives a server the least; `None` for one that is not in the table.
    fn poorest(&self) -> Option<&'static Host> {
        self.all().max_by_key(|host| server::inherited(*host)).flatten()
    }

    /// All hosts; `None` for each one that is not in the table.
    fn all(&self) -> impl Iterator<Item = Option<&'static Host>> {
        self.hosts.iter().copied().map(Some).chain(self.unknown.iter().map(|_| None))
    }
}

fn only(present: &[&'static Host]) -> Result<&'static Host, Failure> {
    match present {
        [host] => Ok(host),
        [] => Err(Failure::usage(format!(
            "no host was found on this machine: name one with --client. There are {}; any other name prints the JSON to \
             paste",
            ids(hosts().iter())
        ))),
        several => Err(Failure::usage(format!(
            "several hosts were found on this machine: {}; name one with --client, or all of them with --client all",
            ids(several.iter().copied())
        ))),
    }
}

fn ids<'a>(hosts: impl Iterator<Item = &'a Host>) -> String {
    hosts.map(|host| host.id).collect::<Vec<_>>().join(", ")
}

/// The hosts whose names begin with this word, such as `claude`, or the one whose name is nearly this one.
fn near(name: &str) -> Vec<&'static str> {
    let ids = || hosts().iter().map(|host| host.id);
    let word = format!("{}-", name.to_lowercase());
    let beginning: Vec<_> = ids().filter(|id| id.starts_with(&word)).collect();
    if beginning.is_empty() { nearest(name, ids()).into_iter().collect() } else { beginning }
}

#[cfg(test)]
mod tests {
    use protomcp_install::Server;

    use super::*;

    #[test]
    fn the_names_of_servers_are_bounded() {
        let host = host("cursor").unwrap();
        let server = |name: &str| ListedServer::of(name, &Server::Url { url: "http://h".into(), headers: Vec::new() });
        let (short, long) = (server("a"), server(&"ü".repeat(1000)));
        assert_eq!(named(&[(host, &short), (host, &short)]), "a in Cursor, a in Cursor");
        let many = named(&vec![(host, &long); 1000]);
        assert!(many.ends_with("ü in Cursor, and 990 more") && many.chars().count() < 1000, "{many}");
    }
}
