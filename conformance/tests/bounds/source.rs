//! Constants and defaults, read out of the sources.
//!
//! A template holds places of the form `{file NAME unit}`, such as `{crates/codec/src/limits.rs max_frame bytes}`. The
//! name is the name of a constant (`NAME: type = expression;`) or of a field with a default (`name: expression,`), and
//! it must be unique in its file. Expressions are sums, products and shifts of numbers, `Duration`s, and other
//! constants of the file.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

pub(crate) struct Sources {
    root: PathBuf,
    texts: HashMap<String, String>,
}

impl Sources {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, texts: HashMap::new() }
    }

    /// The template with its places filled, and the sum of the values that are bytes.
    pub(crate) fn fill(&mut self, template: &str) -> (String, u128) {
        let (mut text, mut sum, mut rest) = (String::new(), 0, template);
        while let Some((before, place)) = rest.split_once('{') {
            let (place, after) = place.split_once('}').expect("a place is closed");
            let words: Vec<_> = place.split(' ').collect();
            let [file, name, unit] = words[..] else { panic!("{{file NAME unit}}, not {{{place}}}") };
            let (name, times) = name
                .split_once('*')
                .map_or((name, 1), |(name, times)| (name, times.parse().expect("a factor is a number")));
            let value = self.value(file, name) * times;
            text += before;
            text += &match unit {
                "bytes" => {
                    sum += value;
                    bytes(value)
                }
                "count" => count(value),
                "time" => time(value),
                other => panic!("no unit is called {other}"),
            };
            rest = after;
        }
        (text + rest, sum)
    }

    /// The value of a constant or default; times are in milliseconds.
    fn value(&mut self, file: &str, name: &str) -> u128 {
        let text = self.texts.entry(file.to_owned()).or_insert_with(|| {
            fs::read_to_string(self.root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
        });
        let text = text.clone();
        let expression = definition(&text, name).unwrap_or_else(|| panic!("{file} defines no {name}"));
        let mut tokens = tokens(expression);
        tokens.reverse();
        let value = self.sum(file, &mut tokens);
        assert!(tokens.is_empty(), "{file}: {name} = {expression} is not understood at {tokens:?}");
        value
    }

    /// Shifts bind least, then sums, then products, as in Rust.
    fn sum(&mut self, file: &str, tokens: &mut Vec<String>) -> u128 {
        let mut value = self.terms(file, tokens);
        while tokens.last().is_some_and(|token| token == "<<") {
            tokens.pop();
            value <<= self.terms(file, tokens);
        }
        value
    }

    fn terms(&mut self, file: &str, tokens: &mut Vec<String>) -> u128 {
        let mut value = self.factors(file, tokens);
        while let Some(operator) = tokens.pop_if(|token| token == "+" || token == "-") {
            let other = self.factors(file, tokens);
            value = if operator == "+" { value + other } else { value - other };
        }
        value
    }

    fn factors(&mut self, file: &str, tokens: &mut Vec<String>) -> u128 {
        let mut value = self.operand(file, tokens);
        while let Some(operator) = tokens.pop_if(|token| token == "*" || token == "/") {
            let other = self.operand(file, tokens);
            value = if operator == "*" { value * other } else { value / other };
        }
        value
    }

    fn operand(&mut self, file: &str, tokens: &mut Vec<String>) -> u128 {
        let token = tokens.pop().expect("an operand");
        let scale = match token.as_str() {
            "(" | "Some" | "Duration::from_millis" => 1,
            "Duration::from_secs" => 1000,
            number if number.starts_with(|c: char| c.is_ascii_digit()) => {
                let digits: String = number.chars().filter(char::is_ascii_digit).collect();
                return digits.parse().expect("a number");
            }
            name => return self.value(file, name),
        };
        if token != "(" {
            assert_eq!(tokens.pop().as_deref(), Some("("), "{token} takes an argument");
        }
        let value = self.sum(file, tokens);
        assert_eq!(tokens.pop().as_deref(), Some(")"), "brackets are closed");
        value * scale
    }
}

/// The expression that a file gives to a name.
fn definition<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    for line in text.lines().map(str::trim) {
        let unqualified = line.strip_prefix("pub").and_then(|line| line.split_once(' ')).map_or(line, |(_, rest)| rest);
        let constant = unqualified.strip_prefix("const ").and_then(|line| line.strip_prefix(name));
        let constant = constant.filter(|line| line.starts_with(':'));
        let expression = match constant {
            Some(rest) => rest.split_once(" = ").map(|(_, rest)| rest.split(';').next().unwrap_or(rest)),
            None => default(unqualified, name),
        };
        if let Some(expression) = expression {
            assert!(found.is_none_or(|found| found == expression), "{name} is defined twice");
            found = Some(expression.trim());
        }
    }
    found
}

/// The default of a field in a line such as `name: 1, other: 2,`; declarations of fields name a type instead.
fn default<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = line.match_indices(name).find(|(at, _)| {
        let before = line[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && line[at + name.len()..].starts_with(": ")
    })?;
    let rest = &line[start.0 + name.len() + 2..];
    let is_value = |c: char| c.is_ascii_digit() || c == '(';
    // The name of another constant has two capitals at least, the name of a type has not.
    let names_constant = rest.chars().take(2).filter(char::is_ascii_uppercase).count() == 2;
    let is_default = rest.starts_with(is_value)
        || ["Some(", "Duration::"].iter().any(|start| rest.starts_with(start))
        || names_constant;
    let end = rest.find([',', '}']).unwrap_or(rest.len());
    is_default.then_some(&rest[..end])
}

fn tokens(expression: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in expression.chars() {
        let is_word = c.is_alphanumeric() || c == '_' || c == ':' || c == '.';
        let continues = is_word && in_word || c == '<' && tokens.last().is_some_and(|token| token == "<");
        if c.is_whitespace() {
            in_word = false;
            continue;
        }
        match tokens.last_mut().filter(|_| continues) {
            Some(token) => token.push(c),
            None => tokens.push(c.into()),
        }
        in_word = is_word;
    }
    tokens
}

/// In the largest unit that says it exactly in four digits, or else rounded to two places.
pub(crate) fn bytes(value: u128) -> String {
    const UNITS: [(u128, &str); 4] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")];
    match UNITS.iter().find(|(unit, _)| value.is_multiple_of(*unit) && value / unit < 10_000) {
        Some((unit, name)) if value >= *unit => format!("{} {name}", count(value / unit)),
        Some(_) | None => {
            let (unit, name) = UNITS.iter().find(|(unit, _)| value >= *unit).expect("one byte is the least");
            format!("{:.2} {name}", value as f64 / *unit as f64)
        }
    }
}

fn count(value: u128) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn time(milliseconds: u128) -> String {
    for (unit, name) in [(3_600_000, "h"), (60_000, "min"), (1_000, "s")] {
        if milliseconds >= unit && milliseconds.is_multiple_of(unit) {
            return format!("{} {name}", milliseconds / unit);
        }
    }
    format!("{milliseconds} ms")
}

#[test]
fn expressions_are_read_as_rust_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = "pub const A: usize = 4 * 1024 + 2;\nconst B: u64 = A << 1 + 1;\n pub(crate) const T: Duration = Duration::from_secs(15 * 60);\n\
                max: usize,\nSelf { max: 64 << 20, max_other: Some(B), wait: Duration::from_millis(250) }\n";
    fs::write(folder.path().join("a.rs"), text).unwrap();
    let mut sources = Sources::new(folder.path().to_path_buf());
    let filled = sources.fill("{a.rs A count}, {a.rs B count}, {a.rs T time}, {a.rs max bytes}, {a.rs wait time}");
    assert_eq!(filled, ("4,098, 16,392, 15 min, 64 MiB, 250 ms".to_owned(), 64 << 20));
    assert_eq!(sources.fill("{a.rs max*3 bytes}").1, 3 * (64 << 20));
}
