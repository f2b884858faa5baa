//! Names of servers that every host takes.

use thiserror::Error;

/// The longest name that leaves room for tools in every host: Cursor allows 60 bytes for the server and the tool.
const LONGEST: usize = 16;

/// The longest name that is accepted if the user chooses one.
const LIMIT: usize = 64;

/// Names with a special meaning in some host.
const RESERVED: &[&str] = &["workspace", "computer-use", "claude-in-chrome"];

/// A name that some host refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid name \"{name}\": {reason}")]
pub struct InvalidName {
    name: String,
    reason: &'static str,
}

/// The name for a server, made from the name of its file or host: 1 to 16 of `a`–`z` and `0`–`9`, first a letter. Hosts
/// put the name in front of each tool's; underscores split names in Gemini CLI, hyphens are replaced in Codex.
pub fn name_for(text: &str) -> String {
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let name: String = letters.trim_start_matches(|c: char| c.is_ascii_digit()).chars().take(LONGEST).collect();
    if name.is_empty() || RESERVED.contains(&name.as_str()) { "tools".into() } else { name }
}

/// Accepts names of at most 64 bytes of `A`–`Z`, `a`–`z`, `0`–`9`, `_` and `-`.
///
/// # Errors
///
/// The name is empty, too long, has other characters, or has a special meaning in some host.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let invalid = |reason| Err(InvalidName { name: name.to_owned(), reason });
    if name.is_empty() || name.len() > LIMIT {
        return invalid("a name has 1 to 64 characters");
    }
    if !name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c)) {
        return invalid("use letters, digits, _ and -");
    }
    if RESERVED.contains(&name) {
        return invalid("Claude Code uses it itself");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_small_letters_and_digits() {
        for (text, name) in [
            ("tools", "tools"),
            ("My Tools-2", "mytools2"),
            ("2_fast", "fast"),
            ("a_very_long_name_of_a_file", "averylongnameofa"),
            ("werkzeug-für-alle", "werkzeugfralle"),
            ("道具", "tools"),
            ("workspace", "tools"),
            ("", "tools"),
        ] {
            assert_eq!(name_for(text), name, "{text}");
            assert_eq!(check_name(name), Ok(()));
        }
    }

    #[test]
    fn names_that_a_host_refuses_are_errors() {
        for name in ["", "a b", "a.b", "ä", "workspace", &"a".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert_eq!(check_name("My_tools-2"), Ok(()));
    }
}
