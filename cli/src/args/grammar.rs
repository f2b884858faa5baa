//! The grammar of command lines.

use std::ffi::OsString;

use clap::{ArgMatches, Command};

/// A grammar that makes a command when a line with it is parsed. All commands with their flags take a millisecond, and
/// a start needs one of them.
pub(super) struct Grammar {
    used: Command,
    make: fn() -> Command,
}

impl Grammar {
    /// The grammar that `make` makes. Its commands are deferred.
    pub(super) fn new(make: fn() -> Command) -> Self {
        Self { used: make(), make }
    }

    /// Parses a line, and makes its command, or all of them for a line without a command: its help names all.
    pub(super) fn parse(&mut self, words: &[OsString]) -> Result<ArgMatches, clap::Error> {
        let verb = words.get(1).and_then(|word| word.to_str());
        if verb.is_none_or(|verb| self.command(verb).is_none()) {
            self.used.build();
        }
        self.used.try_get_matches_from_mut(words)
    }

    /// Parses one more line with a command.
    pub(super) fn parse_more(&self, words: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, clap::Error> {
        self.used.clone().try_get_matches_from(words)
    }

    /// A command. It has its flags if a line with it was parsed.
    pub(super) fn command(&self, verb: &str) -> Option<&Command> {
        self.used.find_subcommand(verb)
    }

    /// All commands with their flags.
    pub(super) fn whole(&self) -> Command {
        let mut whole = (self.make)();
        whole.build();
        whole
    }
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn count(command: Option<&Command>) -> usize {
        command.map_or(0, |command| command.get_opts().count())
    }

    #[test]
    fn a_command_has_its_flags_once_a_line_of_it_is_parsed() {
        let with_flag = |name| Command::new(name).defer(|command| command.arg(Arg::new("color").long("color")));
        fn make() -> Command {
            Command::new("pmcp")
        }
        let mut grammar = Grammar { used: make().subcommands(["list", "call"].map(with_flag)), make };
        assert_eq!(count(grammar.command("list")), 0);
        let line = ["pmcp", "list", "--color", "never"].map(OsString::from);
        let matches = grammar.parse(&line).unwrap();
        assert_eq!(matches.subcommand_name(), Some("list"));
        assert_eq!((count(grammar.command("list")), count(grammar.command("call"))), (1, 0));
        assert!(grammar.parse_more(line).is_ok());
        assert!(grammar.parse(&["pmcp", "--help"].map(OsString::from)).is_err());
        assert_eq!(count(grammar.command("call")), 1);
    }
}
