//! Reads `WWW-Authenticate` (RFC 9110, section 11.6.1) in every legal spelling, and in the illegal ones that servers use:
//! URLs and scopes without quotes.

/// The longest value that is read, in bytes; the rest is ignored.
const MAX_VALUE: usize = 16 * 1024;

/// The most challenges in a response, and the most parameters of each.
const MAX_ITEMS: usize = 64;

/// One challenge: a scheme and its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AuthChallenge {
    /// In lower case.
    scheme: String,
    /// Names in lower case.
    params: Vec<(String, String)>,
}

impl AuthChallenge {
    /// True for this scheme, in lower case.
    pub(crate) fn is(&self, scheme: &str) -> bool {
        self.scheme == scheme
    }

    /// The first parameter of this name, in lower case.
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The challenges of these values, in order.
pub(crate) fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<AuthChallenge> {
    let mut challenges = Vec::new();
    for value in values {
        let end = value.floor_char_boundary(MAX_VALUE);
        Parser { rest: &value[..end] }.run(&mut challenges);
    }
    challenges
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn run(&mut self, challenges: &mut Vec<AuthChallenge>) {
        // Parameters before the first scheme of a value belong to no challenge.
        let mut current: Option<AuthChallenge> = None;
        loop {
            self.skip(is_separator);
            let name = self.take(is_token);
            if name.is_empty() {
                if self.rest.is_empty() {
                    break;
                }
                self.skip_item();
            } else if let Some(value) = self.value() {
                let params = current.as_mut().map(|challenge| &mut challenge.params);
                if let Some(params) = params.filter(|params| params.len() < MAX_ITEMS) {
                    params.push((name.to_ascii_lowercase(), value));
                }
            } else {
                challenges.extend(current.take());
                if challenges.len() >= MAX_ITEMS {
                    return;
                }
                current = Some(AuthChallenge { scheme: name.to_ascii_lowercase(), params: Vec::new() });
                self.skip_token68();
            }
        }
        challenges.extend(current);
    }

    /// The value after `=`, if one follows.
    fn value(&mut self) -> Option<String> {
        let rest = self.rest.trim_start_matches(is_blank).strip_prefix('=')?.trim_start_matches(is_blank);
        self.rest = rest;
        if let Some(quoted) = rest.strip_prefix('"') {
            self.rest = quoted;
            return Some(self.quoted());
        }
        Some(self.take(|letter| !is_separator(letter)).to_owned())
    }

    /// A quoted string, behind its first quote. A missing second quote ends with the value.
    fn quoted(&mut self) -> String {
        let mut text = String::new();
        let mut letters = self.rest.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => break,
                '\\' => text.extend(letters.next()),
                letter => text.push(letter),
            }
        }
        self.rest = letters.as_str();
        text
    }

    /// Skips credentials such as the ones of Negotiate: they end at a comma, and parameters do not.
    fn skip_token68(&mut self) {
        let start = self.rest.trim_start_matches(is_blank);
        if start.len() == self.rest.len() {
            return;
        }
        let end = start.trim_start_matches(is_token68).trim_start_matches('=').trim_start_matches(is_blank);
        if end.is_empty() || end.starts_with(',') {
            self.rest = end;
        }
    }

    /// Skips to the next comma.
    fn skip_item(&mut self) {
        while let Some(letter) = self.rest.chars().next() {
            self.rest = &self.rest[letter.len_utf8()..];
            match letter {
                ',' => return,
                '"' => drop(self.quoted()),
                _ => {}
            }
        }
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest.trim_start_matches(is_part);
        let taken = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        taken
    }

    fn skip(&mut self, is_part: impl Fn(char) -> bool) {
        self.take(is_part);
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

fn is_separator(letter: char) -> bool {
    is_blank(letter) || letter == ','
}

/// RFC 9110, section 5.6.2.
fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}

fn is_token68(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~+/".contains(letter)
}

#[cfg(test)]
mod tests;
