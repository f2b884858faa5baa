//! Faults of definitions, in few enough lines to be read.
//!
//! A list may have thousands of entries with the same fault. The first few of each kind are reported, the others
//! counted.

/// Faults of one kind that are reported one by one.
const TOLD: usize = 8;

/// The most characters of a name in a line.
const NAME_MAX: usize = 128;

/// Collects the faults of one list.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    lines: Vec<String>,
    /// The kinds, as "such and such entries", and their numbers.
    kinds: Vec<(&'static str, usize)>,
}

impl Faults {
    /// Records a fault. `others` describes several entries as `line` describes this one: "tools without a name".
    pub(crate) fn add(&mut self, others: &'static str, line: impl FnOnce() -> String) {
        let known = self.kinds.iter().position(|(kind, _)| *kind == others);
        let at = known.unwrap_or_else(|| {
            self.kinds.push((others, 0));
            self.kinds.len() - 1
        });
        let (_, count) = &mut self.kinds[at];
        *count += 1;
        if *count <= TOLD {
            self.lines.push(line());
        }
    }

    /// The lines for the log.
    pub(crate) fn into_lines(mut self) -> Vec<String> {
        let more = self.kinds.iter().filter(|(_, count)| *count > TOLD);
        self.lines.extend(more.map(|(others, count)| format!("there are {} more {others}", count - TOLD)));
        self.lines
    }
}

/// The part of a name that fits into a line.
pub(crate) fn clipped(name: &str) -> &str {
    name.char_indices().nth(NAME_MAX).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_of_each_kind_are_reported_and_the_others_counted() {
        let mut faults = Faults::default();
        for number in 0..10_000 {
            faults.add("tools without a name", || format!("tool {number} has no name"));
            if number < TOLD {
                faults.add("odd tools", || format!("tool {number} is odd"));
            }
        }
        let lines = faults.into_lines();
        assert_eq!(lines.len(), 2 * TOLD + 1);
        assert_eq!(lines[..2], ["tool 0 has no name", "tool 0 is odd"]);
        assert_eq!(lines[2 * TOLD], "there are 9992 more tools without a name");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(clipped("short"), "short");
        assert_eq!(clipped(&"ä".repeat(200)), "ä".repeat(128));
    }
}
