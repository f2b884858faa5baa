//! The places in which a value differs from the expected one, where both are too long to stand side by side.

use serde_json::{Number, Value};

/// The most lines of either text, and the most places of a value.
const MAX_LINES: usize = 20;
/// The lines that are the same, before and after the others.
const CONTEXT: usize = 2;
/// The longest line, in characters.
const MAX_WIDTH: usize = 200;

/// The lines that differ: `-` for expected ones, `+` for those that were got. `None` if neither text has several.
pub(super) fn of_texts(expected: &str, found: &str) -> Option<String> {
    if !expected.contains('\n') && !found.contains('\n') {
        return None;
    }
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.split('\n').collect(), found.split('\n').collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = expected.iter().zip(&found).take_while(same).count();
    let (wanted, got) = (expected.get(head..).unwrap_or_default(), found.get(head..).unwrap_or_default());
    let tail = wanted.iter().rev().zip(got.iter().rev()).take_while(same).count();
    let (wanted, after) = wanted.split_at(wanted.len() - tail);
    let got = got.get(..got.len() - tail).unwrap_or_default();
    let before = expected.get(head.saturating_sub(CONTEXT)..head).unwrap_or_default();
    let mut lines = vec![format!("expected other text from line {}:", head + 1)];
    lines.extend(marked(' ', before));
    lines.extend(marked('-', wanted));
    lines.extend(marked('+', got));
    lines.extend(marked(' ', after.get(..CONTEXT).unwrap_or(after)));
    Some(lines.join("\n"))
}

/// Lines with their mark; the number of those that are left out.
fn marked(mark: char, lines: &[&str]) -> Vec<String> {
    let mut all: Vec<_> =
        lines.iter().take(MAX_LINES).map(|line| format!("{mark} {}", cut(line)).trim_end().to_owned()).collect();
    if lines.len() > MAX_LINES {
        all.push(format!("{mark} … {} more", lines.len() - MAX_LINES));
    }
    all
}

/// The places in which two values differ, each by its JSON pointer.
pub(super) fn of_values(expected: &Value, found: &Value) -> String {
    let mut all = Vec::new();
    compare("", expected, found, &mut all);
    let left = all.len().saturating_sub(MAX_LINES);
    all.truncate(MAX_LINES);
    if left > 0 {
        all.push(format!("… {left} more"));
    }
    format!("expected other values:\n{}", all.join("\n"))
}

/// Numbers are equal by their value: `5` is `5.0`, and integers are compared to the last digit.
pub(super) fn is_same(one: &Number, other: &Number) -> bool {
    one == other || ((one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64())
}

fn compare(place: &str, expected: &Value, found: &Value, all: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(wanted), Value::Object(got)) => {
            for (name, value) in wanted {
                let place = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
                match got.get(name) {
                    Some(found) => compare(&place, value, found, all),
                    None => all.push(format!("{place}: expected {}, got nothing", shown(value))),
                }
            }
            let new = got.iter().filter(|(name, _)| !wanted.contains_key(*name));
            all.extend(new.map(|(name, value)| format!("{place}/{name}: expected nothing, got {}", shown(value))));
        }
        (Value::Array(wanted), Value::Array(got)) => {
            for (index, (value, found)) in wanted.iter().zip(got).enumerate() {
                compare(&format!("{place}/{index}"), value, found, all);
            }
            if wanted.len() != got.len() {
                all.push(format!("{place}: expected {} elements, got {}", wanted.len(), got.len()));
            }
        }
        (Value::Number(one), Value::Number(other)) if is_same(one, other) => {}
        _ if expected == found => {}
        _ => all.push(format!("{place}: expected {}, got {}", shown(expected), shown(found))),
    }
}

fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_compared_by_lines() {
        for (expected, found, difference) in [
            ("a", "b", None),
            (
                "1\n2\n3\nold\n5\n6\n7",
                "1\n2\n3\nnew\nmore\n5\n6\n7",
                Some("expected other text from line 4:\n  2\n  3\n- old\n+ new\n+ more\n  5\n  6"),
            ),
            ("a\nb", "a", Some("expected other text from line 2:\n  a\n- b")),
            ("a", "a\na", Some("expected other text from line 2:\n  a\n+ a")),
        ] {
            assert_eq!(of_texts(expected, found).as_deref(), difference, "{expected:?} {found:?}");
        }
        let many = "x\n".repeat(100);
        let long = of_texts(&many, &"y".repeat(1000)).unwrap();
        assert!(long.contains("- … 81 more") && long.lines().count() < 30 && long.len() < 600, "{long}");
    }

    #[test]
    fn values_are_compared_by_places() {
        let expected = json!({"a/b": [1, 2], "c": 5, "d": {"e": 1}, "f": "x", "h": 9_007_199_254_740_993_u64});
        let found = json!({"a/b": [1, 3, 4], "c": 5.0, "d": {"e": 1, "g": 2}, "h": 9_007_199_254_740_992_u64});
        let difference = of_values(&expected, &found);
        let lines: Vec<_> = difference.lines().collect();
        assert_eq!(lines[0], "expected other values:");
        for line in [
            "/a~1b/1: expected 2, got 3",
            "/a~1b: expected 2 elements, got 3",
            "/d/g: expected nothing, got 2",
            "/f: expected \"x\", got nothing",
            "/h: expected 9007199254740993, got 9007199254740992",
        ] {
            assert!(lines.contains(&line), "{line}: {difference}");
        }
        assert_eq!(lines.len(), 6, "{difference}");
        let many = json!(vec![1; 100]);
        assert!(of_values(&many, &json!(vec![2; 100])).ends_with("… 80 more"));
    }
}
