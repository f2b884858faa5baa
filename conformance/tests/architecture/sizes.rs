//! Names of tests and numbers of fields stay within limits that a reader can take in, and calls of public functions say
//! what they mean. Clippy checks the lines and parameters of functions.

use std::fmt::Write;
use std::path::Path;

use super::tokens::{Kind, Token, tokens};
use super::{root, sources};

/// The longest name of a test.
const NAME: usize = 60;

/// The most fields of a struct.
const FIELDS: usize = 15;

/// Functions that write a `bool`.
const VALUES: &[&str] = &["boolean"];

/// The lines of a file that break a rule, with what is wrong.
type Findings = Vec<(usize, String)>;

#[test]
fn names_structs_and_parameters_stay_within_their_limits() {
    let rules: [fn(&[Token<'_>]) -> Findings; 4] = [long_names, large_structs, flags, tuples];
    let mut report = String::new();
    for (path, text) in sources() {
        let name: &Path = path.strip_prefix(root()).expect("files are below the root");
        let code: Vec<_> = tokens(&text).into_iter().filter(|token| token.kind != Kind::Comment).collect();
        for (line, finding) in rules.iter().flat_map(|rule| rule(&code)) {
            writeln!(report, "{}:{line}: {finding}", name.display()).expect("a string grows");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

fn long_names(code: &[Token<'_>]) -> Findings {
    let names = code.windows(2).filter(|pair| pair[0].is("fn") && pair[1].text.len() > NAME);
    names.map(|pair| (pair[1].line, format!("{} has {} characters", pair[1].text, pair[1].text.len()))).collect()
}

fn large_structs(code: &[Token<'_>]) -> Findings {
    let heads = (0..code.len()).filter(|at| code[*at].is("struct"));
    let sizes = heads.filter_map(|at| Some((at, fields(&code[at..])?)));
    sizes
        .filter(|(_, count)| *count > FIELDS)
        .map(|(at, count)| (code[at].line, format!("{} has {count} fields", code[at + 1].text)))
        .collect()
}

/// A call such as `reply(task, true)` does not say what is true; `with_limit(true)` does.
fn flags(code: &[Token<'_>]) -> Findings {
    let heads = (1..code.len()).filter(|at| code[*at].is("fn") && is_public(&code[..*at]));
    let heads = heads.filter(|at| code.get(at + 1).is_some_and(|name| !VALUES.contains(&name.text)));
    heads.filter_map(|at| Some((code[at].line, flag(&code[at..])?))).collect()
}

/// True if the tokens before `fn` begin with a bare `pub`.
fn is_public(before: &[Token<'_>]) -> bool {
    let qualifiers = ["async", "const", "unsafe"];
    before.iter().rev().find(|token| !qualifiers.contains(&token.text)).is_some_and(|token| token.is("pub"))
}

/// A report of the function that begins here, if it has a `bool` in addition to other parameters.
fn flag(code: &[Token<'_>]) -> Option<String> {
    let parameters = parameters(code);
    let types: Vec<_> =
        parameters.iter().filter_map(|parameter| parameter.split(|token| token.is(":")).nth(1)).collect();
    let has_flag = types.iter().any(|of| of.first().is_some_and(|token| token.is("bool")));
    (has_flag && types.len() > 1).then(|| format!("{} takes a flag", code[1].text))
}

/// A tuple next to other parameters is a way around their limit: a struct names its fields.
fn tuples(code: &[Token<'_>]) -> Findings {
    let heads = (0..code.len().saturating_sub(1)).filter(|at| code[*at].is("fn") && code[at + 1].kind == Kind::Word);
    let has_tuple = |at: &usize| {
        let parameters = parameters(&code[*at..]);
        parameters.len() > 1 && parameters.iter().any(|parameter| parameter.first().is_some_and(|token| token.is("(")))
    };
    heads.filter(has_tuple).map(|at| (code[at].line, format!("{} takes a tuple", code[at + 1].text))).collect()
}

/// The parameters of the function that begins here, each as its tokens.
fn parameters<'a>(code: &'a [Token<'a>]) -> Vec<&'a [Token<'a>]> {
    let (mut open, mut start, mut found) = (Vec::new(), 0, Vec::new());
    for (at, token) in code.iter().enumerate().skip(2).filter(|(_, token)| token.kind == Kind::Mark) {
        match token.text {
            mark @ ("(" | "[" | "<") => {
                if open.is_empty() {
                    start = at + 1;
                }
                open.push(mark);
            }
            // An arrow closes nothing.
            ">" if code[at - 1].is("-") => {}
            "," if open == ["("] => {
                found.push(&code[start..at]);
                start = at + 1;
            }
            ")" | "]" | ">" => {
                let closed = open.pop();
                if closed == Some("(") && open.is_empty() {
                    // There may be a comma after the last one.
                    found.extend((start < at).then(|| &code[start..at]));
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// The number of named fields of the struct that begins here.
fn fields(code: &[Token<'_>]) -> Option<usize> {
    let open = code.iter().position(|token| token.is("{") || token.is(";") || token.is("("))?;
    if !code[open].is("{") {
        return None;
    }
    let mut depth = 0_usize;
    let mut count = 0;
    for (at, token) in code[open..].iter().enumerate() {
        match token.text {
            "{" | "(" | "[" | "<" if token.kind == Kind::Mark => depth += 1,
            // An arrow closes nothing.
            ">" if code[open + at - 1].is("-") => {}
            "}" | ")" | "]" | ">" if token.kind == Kind::Mark => depth -= 1,
            ":" if depth == 1 => count += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    Some(count)
}
