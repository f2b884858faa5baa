//! The scripts that a store runs.
//!
//! Each is one step of the store, with its clock, and has the keys of one session, so that it works in a cluster. A
//! script is called by its digest (`EVALSHA`); a server that does not know it gets its text (`EVAL`), and knows it
//! then. The text may be several files, one after the other.

use std::fmt;
use std::sync::LazyLock;

use redis::{Cmd, ServerError, ServerErrorKind, Value};

/// A script, and its digest.
pub(crate) struct Script {
    text: &'static str,
    digest: LazyLock<String>,
}

macro_rules! scripts {
    ($($name:ident $($file:literal)+;)*) => {
        $(
            pub(crate) static $name: Script = {
                const TEXT: &str = concat!($(include_str!(concat!("scripts/", $file))),+);
                Script { text: TEXT, digest: LazyLock::new(|| redis::Script::new(TEXT).get_hash().to_owned()) }
            };
        )*
    };
}

scripts! {
    REGISTER "register.lua";
    RENEW "running.lua" "renew.lua";
    RESIGN "resign.lua";
    LIVE "live.lua";
    ANNOUNCE "running.lua" "announce.lua";
    ADDRESS "address.lua";
    OPEN "open.lua";
    CLAIM "claim.lua";
    SAVE "save.lua";
    RELEASE "release.lua";
    CLOSE "close.lua";
    TOUCH "touch.lua";
    PUT "put.lua";
    REMOVE "remove.lua";
    OPENED "token.lua" "opened.lua";
    APPEND "token.lua" "append.lua";
    ENDED "token.lua" "ended.lua";
    REPLAY "replay.lua";
    LOG "log.lua";
    FORGET "forget.lua";
}

/// A script with its keys and arguments, or another command.
#[derive(Clone)]
pub(crate) enum Call {
    Script { script: &'static Script, keys: Vec<String>, args: Vec<Vec<u8>> },
    Command(Cmd),
}

/// The form in which scripts are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Digest,
    Text,
}

impl Script {
    pub(crate) fn call(&'static self, keys: Vec<String>) -> Call {
        Call::Script { script: self, keys, args: Vec::new() }
    }
}

impl Call {
    /// With another argument.
    pub(crate) fn arg(mut self, arg: impl Argument) -> Self {
        match &mut self {
            Self::Script { args, .. } => args.push(arg.into_bytes()),
            Self::Command(command) => {
                command.arg(arg.into_bytes());
            }
        }
        self
    }

    /// The bytes of the arguments.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Script { args, .. } => args.iter().map(Vec::len).sum(),
            Self::Command(_) => 0,
        }
    }

    pub(crate) fn to_command(&self, form: Form) -> Cmd {
        let (script, keys, args) = match self {
            Self::Script { script, keys, args } => (script, keys, args),
            Self::Command(command) => return command.clone(),
        };
        let mut command = match form {
            Form::Digest => redis::cmd("EVALSHA"),
            Form::Text => redis::cmd("EVAL"),
        };
        match form {
            Form::Digest => command.arg(script.digest.as_str()),
            Form::Text => command.arg(script.text),
        };
        command.arg(keys.len());
        for key in keys {
            command.arg(key.as_str());
        }
        for arg in args {
            command.arg(arg.as_slice());
        }
        command
    }
}

/// Arguments may have the contents of sessions.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

/// An argument of a script.
pub(crate) trait Argument {
    fn into_bytes(self) -> Vec<u8>;
}

impl Argument for Vec<u8> {
    fn into_bytes(self) -> Vec<u8> {
        self
    }
}

impl Argument for &str {
    fn into_bytes(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Argument for String {
    fn into_bytes(self) -> Vec<u8> {
        self.into()
    }
}

impl Argument for u64 {
    fn into_bytes(self) -> Vec<u8> {
        self.to_string().into()
    }
}

/// True if the server does not know the script by its digest.
pub(crate) fn is_unknown(answer: &Value) -> bool {
    let Value::ServerError(error) = answer else { return false };
    error.kind() == Some(ServerErrorKind::NoScript)
}

/// The error of a server that may answer the same call in a moment: it starts, or another one takes its place.
pub(crate) fn passing(answer: &Value) -> Option<&ServerError> {
    let Value::ServerError(error) = answer else { return None };
    let passing = ["CLUSTERDOWN", "LOADING", "MASTERDOWN", "NOREPLICAS", "READONLY", "TRYAGAIN"];
    passing.contains(&word(error)).then_some(error)
}

/// True if the server has no memory left for a value.
pub(crate) fn is_full(answer: &Value) -> bool {
    let Value::ServerError(error) = answer else { return false };
    word(error) == "OOM"
}

/// The word that names an error. Redis 6.2 puts the error of a script's command behind a text, under the word `ERR`.
fn word(error: &ServerError) -> &str {
    let of_command = error.details().filter(|_| error.code() == "ERR").and_then(|text| text.rsplit_once(": -"));
    of_command.and_then(|(_, error)| error.split(' ').next()).unwrap_or_else(|| error.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_to_a_log_checks_its_token_first() {
        let check = include_str!("scripts/token.lua");
        for script in [&OPENED, &APPEND, &ENDED] {
            let own = script.text.strip_prefix(check).expect("it begins with the check");
            assert!(own.starts_with("-- ") && own.ends_with("return 1\n") && !own.contains("'k'"), "{own}");
        }
        assert_eq!(OPENED.digest.len(), 40);
        assert_ne!(*OPENED.digest, *ENDED.digest);
    }

    /// The error of a server.
    fn error(line: &str) -> Value {
        redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("it is an answer")
    }

    /// The form of Redis 6.2, which later ones do not have.
    #[test]
    fn the_error_of_a_command_counts_inside_a_script_too() {
        let run = |error: &str| {
            let script = "f_4ca238f611c9d0ae4e9a75a5dbac22aedc1e3a94";
            format!("ERR Error running script (call to {script}): @user_script:9: @user_script: 9: -{error}")
        };
        let read_only = "READONLY You can't write against a read only replica.";
        let full = "OOM command not allowed when used memory > 'maxmemory'.";
        let alone = "NOREPLICAS Not enough good replicas to write.";
        for (text, is_passing, is_out_of_memory) in
            [(read_only, true, false), (full, false, true), (alone, true, false), ("WRONGTYPE no", false, false)]
        {
            for line in [text.to_owned(), run(text)] {
                let answer = error(&line);
                assert_eq!((passing(&answer).is_some(), is_full(&answer)), (is_passing, is_out_of_memory), "{line}");
            }
        }
        for line in ["ERR unknown command", "ERR", "ERR Error running script: -", "ERR no: OOM"] {
            let answer = error(line);
            assert!(passing(&answer).is_none() && !is_full(&answer), "{line}");
        }
    }

    #[test]
    fn a_call_is_sent_by_digest_or_as_text() {
        let call = LIVE.call(vec!["pmcp:leases".to_owned()]).arg(7_u64).arg("text").arg(vec![0xff_u8]);
        let command = |form| {
            let packed = call.to_command(form).get_packed_command();
            String::from_utf8_lossy(&packed).into_owned()
        };
        let digest = command(Form::Digest);
        assert!(digest.starts_with("*7\r\n$7\r\nEVALSHA\r\n$40\r\n"), "{digest}");
        assert!(digest.contains("\r\n$1\r\n1\r\n$11\r\npmcp:leases\r\n$1\r\n7\r\n$4\r\ntext\r\n$1\r\n"), "{digest}");
        assert!(command(Form::Text).contains("EVAL\r\n") && command(Form::Text).contains("ZRANGEBYSCORE"));
        assert_eq!(call.bytes(), 6);
        assert_eq!(format!("{call:?}"), "Call { .. }");
    }
}
