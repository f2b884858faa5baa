//! The difference of two versions of a file, for people.

use std::fmt::Write;

/// The lines around a change.
const CONTEXT: usize = 3;

/// The changed lines with `-` and `+`, and three lines around them. Empty if there is no difference.
///
/// Edits of this crate are one region, so what both versions begin and end with is left out.
pub fn diff(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - same;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let start = same.saturating_sub(CONTEXT);
    let tail = end.min(CONTEXT);
    let mut text =
        format!("@@ -{},{} +{},{} @@\n", start + 1, old_end + tail - start, start + 1, new_end + tail - start);
    let groups = [
        (' ', &old[start..same]),
        ('-', &old[same..old_end]),
        ('+', &new[same..new_end]),
        (' ', &new[new_end..new_end + tail]),
    ];
    for (mark, lines) in groups {
        for line in lines {
            writeln!(text, "{mark}{line}").expect("a string grows");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\nnew\n6\n7\n8\n9\n";
        assert_eq!(diff(before, after), "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+new\n 6\n 7\n 8\n");
        assert_eq!(diff("", "{\n}\n"), "@@ -1,0 +1,2 @@\n+{\n+}\n");
        assert_eq!(diff("a\n", ""), "@@ -1,1 +1,0 @@\n-a\n");
        assert_eq!(diff("a\na\n", "a\na\na\n"), "@@ -1,2 +1,3 @@\n a\n a\n+a\n");
        assert_eq!(diff("a", "a"), "");
    }
}
