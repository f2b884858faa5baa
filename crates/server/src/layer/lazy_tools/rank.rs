//! Ranks tools by the words of a question. A pure function: one question about one list has one answer.

use crate::layer::lazy_tools::words::{Likeness, likeness, words};

/// The most words of a question that count, and the most bytes of a description, so that a search takes milliseconds.
const MAX_WORDS: usize = 16;
const MAX_TEXT: usize = 512;

/// The texts of a tool that a search compares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    /// The names of its arguments.
    pub(super) arguments: Vec<String>,
}

/// The words of a text, and the weight of each.
struct Field {
    words: Vec<String>,
    weight: u64,
}

/// The positions of the tools that have a word of the question, best first; of equals the one whose name comes first. A
/// word counts for more in a name than in a description, as itself than as a part of another, and if few tools have it.
/// A name that is the question comes first.
pub(super) fn rank(question: &str, tools: &[Texts]) -> Vec<usize> {
    let mut asked: Vec<String> = Vec::new();
    for word in words(question) {
        if asked.len() < MAX_WORDS && !asked.contains(&word) {
            asked.push(word);
        }
    }
    let fields: Vec<[Field; 4]> = tools.iter().map(fields).collect();
    let mut scores = vec![0; tools.len()];
    for word in &asked {
        let weights: Vec<u64> = fields.iter().map(|fields| weight(word, fields)).collect();
        let having = weights.iter().filter(|weight| **weight > 0).count();
        let rarity = 1 + tools.len().checked_div(having).map_or(0, usize::ilog2);
        for (score, weight) in scores.iter_mut().zip(weights) {
            *score += weight * u64::from(rarity);
        }
    }
    let whole = asked.concat();
    let is_meant = |tool: usize| fields[tool][0].words.concat() == whole;
    let mut found: Vec<usize> = (0..tools.len()).filter(|tool| scores[*tool] > 0).collect();
    found.sort_by(|one, other| {
        let key = |tool: usize| (is_meant(tool), scores[tool]);
        key(*other).cmp(&key(*one)).then_with(|| tools[*one].name.cmp(&tools[*other].name))
    });
    found
}

/// The name first.
fn fields(tool: &Texts) -> [Field; 4] {
    let description = &tool.description[..tool.description.floor_char_boundary(MAX_TEXT)];
    let arguments = tool.arguments.iter().flat_map(|name| words(name)).collect();
    [
        Field { words: words(&tool.name), weight: 10 },
        Field { words: words(&tool.title), weight: 6 },
        Field { words: words(description), weight: 4 },
        Field { words: arguments, weight: 3 },
    ]
}

/// The weight of a word in a tool: the weight of its best field.
fn weight(word: &str, fields: &[Field]) -> u64 {
    let best = |field: &Field| {
        let likeness: Option<Likeness> = field.words.iter().filter_map(|found| likeness(word, found)).max();
        likeness.map_or(0, |likeness| field.weight * likeness as u64)
    };
    fields.iter().map(best).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str, arguments: &str) -> Texts {
        let arguments = arguments.split_whitespace().map(Into::into).collect();
        Texts { name: name.into(), title: String::new(), description: description.into(), arguments }
    }

    fn tools() -> Vec<Texts> {
        vec![
            tool("create_issue", "Create a new issue in a repository.", "owner repo title body"),
            tool("list_issues", "List the issues of a repository.", "owner repo state"),
            tool("create_repository", "Create a new repository.", "name private"),
            tool("read_file", "Read a file from disk.", "path"),
            tool("read_multiple_files", "Read several files together.", "paths"),
            tool("move_file", "Move or rename a file.", "source destination"),
            tool("search", "Search the web.", "query"),
            tool("getWeather", "The forecast for a city.", "city units"),
            tool("search_files", "Find files whose name has a word.", "path pattern"),
        ]
    }

    fn found(question: &str) -> String {
        let tools = tools();
        let names: Vec<_> = rank(question, &tools).into_iter().map(|tool| tools[tool].name.as_str()).collect();
        names.join(" ")
    }

    #[test]
    fn the_best_tool_comes_first() {
        for (question, first) in [
            ("create issue", "create_issue"),
            ("Create an issue", "create_issue"),
            ("createIssue", "create_issue"),
            ("open issues", "list_issues"),
            ("new repository", "create_repository"),
            ("read a file", "read_file"),
            ("rename", "move_file"),
            ("weather", "getWeather"),
            ("forecast", "getWeather"),
            ("city", "getWeather"),
            ("search", "search"),
            ("search files", "search_files"),
            ("pattern", "search_files"),
            ("repository list", "list_issues"),
        ] {
            assert_eq!(found(question).split(' ').next(), Some(first), "{question}: {}", found(question));
        }
    }

    #[test]
    fn tools_without_a_word_are_left_out() {
        for (question, all) in [
            ("", ""),
            ("!?", ""),
            ("database", ""),
            ("issue", "create_issue list_issues"),
            ("web", "search"),
            ("destination", "move_file"),
        ] {
            assert_eq!(found(question), all, "{question}");
        }
    }

    #[test]
    fn a_rare_word_counts_for_more_than_a_common_one() {
        // "file" is in five tools, "move" in one.
        assert!(found("file move").starts_with("move_file "), "{}", found("file move"));
    }

    #[test]
    fn the_order_does_not_depend_on_the_order_of_the_list() {
        let (tools, reversed): (Vec<_>, Vec<_>) = (tools(), tools().into_iter().rev().collect());
        for question in ["file", "create", "repository issue", "a"] {
            let names = |tools: &[Texts]| -> Vec<String> {
                rank(question, tools).into_iter().map(|tool| tools[tool].name.clone()).collect()
            };
            assert_eq!(names(&tools), names(&reversed), "{question}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let long = format!("{} needle", "ä ".repeat(MAX_TEXT));
        let question = (0..MAX_WORDS).map(|n| format!("w{n} ")).collect::<String>() + "far";
        let tools = [tool("a", &long, ""), tool("far", "", "")];
        assert!(rank("needle", &tools).is_empty() && rank(&question, &tools).is_empty());
    }
}
