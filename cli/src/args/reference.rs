//! The grammar in other forms: help, completions for shells, and manual pages.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::refusal::unknown_command;
use crate::exit::Failure;

/// The places of completions.
pub(super) const COMPLETIONS: &str = "\
Examples:
  pmcp completions bash > ~/.local/share/bash-completion/completions/pmcp
  pmcp completions zsh > \"${fpath[1]}/_pmcp\"
  pmcp completions fish > ~/.config/fish/completions/pmcp.fish";

/// The help of a command, or of the program.
pub(super) fn help(command: Option<&str>, mut all: Command) -> Result<String, Failure> {
    let Some(name) = command else { return Ok(all.render_long_help().to_string()) };
    match all.find_subcommand_mut(name) {
        Some(command) => Ok(command.clone().bin_name(format!("pmcp {name}")).render_long_help().to_string()),
        None => Err(unknown_command(name, &all)),
    }
}

/// The script that completes command lines in a shell.
pub(super) fn completions(shell: Shell, mut grammar: Command) -> String {
    let mut script = Vec::new();
    // Arguments of commands are made when they are needed.
    grammar.build();
    grammar = grammar.mut_subcommands(|command| command.mut_args(with_values));
    clap_complete::generate(shell, &mut grammar, "pmcp", &mut script);
    String::from_utf8_lossy(&script).into_owned() + of_tools(shell)
}

/// A flag with the values that a shell offers: it takes others, too.
fn with_values(flag: Arg) -> Arg {
    match flag.get_long() {
        #[cfg(feature = "install")]
        Some("client") => {
            let ids = protomcp_install::hosts().iter().map(|host| host.id);
            flag.value_parser(PossibleValuesParser::new(ids.chain(["all"])))
        }
        Some("for") => flag.value_parser(PossibleValuesParser::new(protomcp_check::host_words())),
        _ => flag,
    }
}

/// The part of a script that completes the names of the tools of a file.
fn of_tools(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("../../templates/completions/tools.bash"),
        Shell::Zsh => include_str!("../../templates/completions/tools.zsh"),
        Shell::Fish => include_str!("../../templates/completions/tools.fish"),
        _ => "",
    }
}

/// The manual page of the program. With a directory, pages of the program and of each command are written there.
pub(super) fn manual(directory: Option<&Path>, mut grammar: Command) -> Result<String, Failure> {
    let failed = |error| Failure::failed(format!("cannot write the manual: {error}"));
    match directory {
        Some(directory) => {
            std::fs::create_dir_all(directory).map_err(failed)?;
            clap_mangen::generate_to(grammar, directory).map_err(failed)?;
            Ok(String::new())
        }
        None => {
            let mut page = Vec::new();
            grammar.build();
            Man::new(grammar).render(&mut page).map_err(failed)?;
            Ok(String::from_utf8_lossy(&page).into_owned())
        }
    }
}
