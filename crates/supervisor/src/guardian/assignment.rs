//! The command of a guardian that was forked before the command was known, as a message.
//!
//! After [`Order::Assign`], four bytes have the length of the rest, little-endian. The rest is texts, each with a zero byte after it: `inherit` or
//! `clear`, the number of variables, their names and values in turn, and the arguments that an executed guardian has after
//! the marker. The standard output and the standard error of the process come with it as descriptors.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::command::Command;
use crate::guardian::protocol::{Order, Task};
use crate::started::set_variables;

/// The bytes of an assignment after its head. The system executes no program with more arguments and variables either.
pub(crate) const MAX_ASSIGNMENT: usize = 8 << 20;

/// Bytes of the order and of the length.
pub(crate) const HEAD: usize = 5;

/// The length of the rest, if this is the head of an assignment.
pub(crate) fn length(head: [u8; HEAD]) -> Option<usize> {
    let [order, length @ ..] = head;
    let length = u32::from_le_bytes(length) as usize;
    (Order::from_byte(order) == Order::Assign && length <= MAX_ASSIGNMENT).then_some(length)
}

/// A command, and the environment of its process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) task: Task,
    pub(crate) environment: Environment,
}

impl Assignment {
    pub(crate) fn of(command: &Command) -> Self {
        let variables = command.variables().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { task: Task::of(command), environment: Environment { is_inherited: command.inherits_env(), variables } }
    }

    /// The message; `None` if a text has a zero byte, or the whole is too large: no program can be executed then.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let Environment { is_inherited, variables } = &self.environment;
        let mut texts =
            vec![OsString::from(if *is_inherited { INHERIT } else { CLEAR }), variables.len().to_string().into()];
        texts.extend(variables.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
        texts.extend(self.task.to_args().into_iter().skip(1));
        let mut bytes = vec![0; HEAD];
        for text in texts {
            if text.as_bytes().contains(&0) {
                return None;
            }
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        let length = u32::try_from(bytes.len() - HEAD).ok()?;
        bytes[0] = Order::Assign.to_byte();
        bytes[1..HEAD].copy_from_slice(&length.to_le_bytes());
        (bytes.len() - HEAD <= MAX_ASSIGNMENT).then_some(bytes)
    }

    /// Reads the message after its head.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let texts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let mut texts = texts.map(|text| OsString::from_vec(text.to_vec()));
        let kind = texts.next()?;
        let is_inherited = kind == INHERIT;
        if !is_inherited && kind != CLEAR {
            return None;
        }
        let count: usize = texts.next()?.to_str()?.parse().ok()?;
        let mut variables = Vec::new();
        for _ in 0..count {
            variables.push((texts.next()?, texts.next()?));
        }
        Some(Self { task: Task::from_args(texts)?, environment: Environment { is_inherited, variables } })
    }
}

const INHERIT: &str = "inherit";
const CLEAR: &str = "clear";

/// The environment of a process, compared with its guardian's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) is_inherited: bool,
    /// Names and values.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The environment of the guardian itself.
    pub(crate) fn of_the_guardian() -> Self {
        Self { is_inherited: true, variables: Vec::new() }
    }

    /// The value that a variable has in the process.
    pub(crate) fn value(&self, name: &OsStr) -> Option<OsString> {
        let own = self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        own.or_else(|| self.is_inherited.then(|| std::env::var_os(name)).flatten())
    }

    pub(crate) fn apply(&self, std: &mut std::process::Command) {
        set_variables(self.is_inherited, self.variables.iter().map(|(name, value)| (name, value)), std);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &[u8]) -> Option<Assignment> {
        let (head, rest) = message.split_first_chunk().unwrap();
        assert_eq!(length(*head), Some(rest.len()));
        Assignment::from_bytes(rest)
    }

    #[test]
    fn an_assignment_survives_the_socket() {
        let plain = Command::new("tool");
        let full = Command::new("--").args(["", "--cwd", "ü"]).current_dir("/srv").env_socket("S", "/run/a.sock");
        for command in [plain, full.clone(), full.env_clear().env("EMPTY", "").env("LINES", "a\nb")] {
            let assignment = Assignment::of(&command);
            assert_eq!(read(&assignment.to_bytes().unwrap()), Some(assignment));
        }
    }

    #[test]
    fn what_no_program_can_be_executed_with_has_no_message() {
        let large = Command::new("tool").env("LARGE", "x".repeat(MAX_ASSIGNMENT));
        for command in
            [Command::new("to\0ol"), Command::new("tool").arg("\0"), Command::new("tool").env("A", "\0"), large]
        {
            assert_eq!(Assignment::of(&command).to_bytes(), None);
        }
    }

    #[test]
    fn a_message_that_is_not_ours_is_refused() {
        for text in [
            "",
            "\0",
            "inherit\0",
            "inherit\x000\0",
            "inherit\x000\0--\0tool",
            "keep\x000\0--\0tool\0",
            "inherit\x001\0--\0tool\0",
            "clear\0many\0--\0tool\0",
            "clear\x0018446744073709551615\0A\0B\0",
        ] {
            assert_eq!(Assignment::from_bytes(text.as_bytes()), None, "{text:?}");
        }
        assert!(Assignment::from_bytes(b"inherit\x000\0--\0tool\0").is_some());
        for head in [*b"K\0\0\0\0", *b"S\0\0\0\0", *b"A\xff\xff\xff\xff"] {
            assert_eq!(length(head), None, "{head:?}");
        }
    }
}
