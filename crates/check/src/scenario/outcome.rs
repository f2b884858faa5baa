//! The outcome of scenarios, as a table, JSON, or JUnit XML for CI.

use std::fmt::Write as _;
use std::time::Duration;

use protomcp_types::one_line;
use serde_json::{Value, json};

/// The verdict about a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was as expected.
    Passed,
    /// The differences.
    Failed(Vec<String>),
    /// An earlier step has failed.
    Skipped,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutcome {
    /// Its name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The time that it took.
    pub took: Duration,
}

/// The outcome of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The name of the scenario.
    pub name: String,
    /// The outcomes of its steps.
    pub steps: Vec<StepOutcome>,
}

/// The outcomes of several scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report(pub Vec<Outcome>);

impl Outcome {
    /// The outcome of a scenario that could not begin.
    #[must_use]
    pub fn not_begun(name: impl Into<String>, why: impl Into<String>) -> Self {
        let verdict = Verdict::Failed(vec![why.into()]);
        Self { name: name.into(), steps: vec![StepOutcome { name: "start".into(), verdict, took: Duration::ZERO }] }
    }

    /// True if no step has failed.
    #[must_use]
    pub fn passes(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step.verdict, Verdict::Failed(_)))
    }

    fn count(&self, wanted: fn(&Verdict) -> bool) -> usize {
        self.steps.iter().filter(|step| wanted(&step.verdict)).count()
    }

    fn took(&self) -> Duration {
        self.steps.iter().map(|step| step.took).sum()
    }
}

impl Report {
    /// True if no step of any scenario has failed.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.0.iter().all(Outcome::passes)
    }

    /// The table for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let names = self.0.iter().flat_map(|outcome| &outcome.steps).map(|step| step.name.chars().count());
        let width = names.max().unwrap_or_default().min(60);
        let mut text = String::new();
        for outcome in &self.0 {
            text.push_str(&format!("{}\n", one_line(&outcome.name)));
            for StepOutcome { name, verdict, took } in &outcome.steps {
                let (mark, time) = match verdict {
                    Verdict::Passed => ('✓', milliseconds(*took)),
                    Verdict::Failed(_) => ('✗', milliseconds(*took)),
                    Verdict::Skipped => ('-', "skipped".to_owned()),
                };
                let name = one_line(name);
                text.push_str(&format!("  {mark} {name:width$}  {time:>9}\n"));
                if let Verdict::Failed(why) = verdict {
                    why.iter().for_each(|why| text.push_str(&format!("      {}\n", why.replace('\n', "\n      "))));
                }
            }
        }
        let steps: usize = self.0.iter().map(|outcome| outcome.steps.len()).sum();
        let passed: usize = self.0.iter().map(|outcome| outcome.count(|verdict| *verdict == Verdict::Passed)).sum();
        let good = self.0.iter().filter(|outcome| outcome.passes()).count();
        text + &format!("{good} of {} scenarios passed, {passed} of {steps} steps\n", self.0.len())
    }

    /// The report for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let step = |StepOutcome { name, verdict, took }: &StepOutcome| {
            let (word, why): (&str, &[String]) = match verdict {
                Verdict::Passed => ("passed", &[]),
                Verdict::Failed(why) => ("failed", why.as_slice()),
                Verdict::Skipped => ("skipped", &[]),
            };
            json!({"name": name, "verdict": word, "differences": why, "durationMs": took.as_millis()})
        };
        let scenario = |outcome: &Outcome| {
            let steps: Vec<_> = outcome.steps.iter().map(step).collect();
            json!({"name": outcome.name, "pass": outcome.passes(), "steps": steps})
        };
        json!({"scenarios": self.0.iter().map(scenario).collect::<Vec<_>>(), "pass": self.passes()})
    }

    /// The report as JUnit XML: a suite for each scenario, a case for each step.
    #[must_use]
    pub fn to_junit(&self) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        for outcome in &self.0 {
            let failures = outcome.count(|verdict| matches!(verdict, Verdict::Failed(_)));
            let skipped = outcome.count(|verdict| *verdict == Verdict::Skipped);
            let (name, tests, time) = (escaped(&outcome.name), outcome.steps.len(), seconds(outcome.took()));
            let head = format!(
                "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{time}\">\n"
            );
            xml.push_str(&head);
            for step in &outcome.steps {
                let case = format!(
                    "    <testcase classname=\"{name}\" name=\"{}\" time=\"{}\"",
                    escaped(&step.name),
                    seconds(step.took)
                );
                xml.push_str(&match &step.verdict {
                    Verdict::Passed => format!("{case}/>\n"),
                    Verdict::Skipped => format!("{case}><skipped/></testcase>\n"),
                    Verdict::Failed(why) => {
                        let first = escaped(why.first().map_or("", String::as_str));
                        let all = escaped(&why.join("\n"));
                        format!("{case}><failure message=\"{first}\">{all}</failure></testcase>\n")
                    }
                });
            }
            xml.push_str("  </testsuite>\n");
        }
        xml + "</testsuites>\n"
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Text for XML 1.0, which has no place for most control characters.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => _ = write!(out, "&#{};", u32::from(c)),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let step = |name: &str, verdict| StepOutcome { name: name.into(), verdict, took: Duration::from_millis(12) };
        let failed = Verdict::Failed(vec!["text: expected \"5\", got \"<6>\"\u{1}".into(), "x\ny".into()]);
        let steps = vec![
            step("list tools", Verdict::Passed),
            step("add", failed),
            StepOutcome { took: Duration::ZERO, ..step("more", Verdict::Skipped) },
        ];
        let good = Outcome { name: "other".into(), steps: vec![step("a", Verdict::Passed)] };
        Report(vec![Outcome { name: "a & b".into(), steps }, good])
    }

    #[test]
    fn a_table_shows_steps_and_differences() {
        let expected = "a & b\n  ✓ list tools      12 ms\n  ✗ add             12 ms\n      text: expected \"5\", got \"<6>\"\u{1}\n      \
                        x\n      y\n  - more          skipped\nother\n  ✓ a               12 ms\n1 of 2 scenarios passed, 2 of 4 steps\n";
        assert_eq!(report().to_text(), expected);
    }

    #[test]
    fn junit_has_a_suite_for_each_scenario() {
        let xml = report().to_junit();
        for part in [
            "<testsuite name=\"a &amp; b\" tests=\"3\" failures=\"1\" skipped=\"1\" time=\"0.024\">",
            "<testcase classname=\"a &amp; b\" name=\"list tools\" time=\"0.012\"/>",
            "<failure message=\"text: expected &quot;5&quot;, got &quot;&lt;6&gt;&quot;\u{fffd}\">",
            "&#10;x&#10;y</failure></testcase>",
            "name=\"more\" time=\"0.000\"><skipped/></testcase>",
            "<testsuite name=\"other\" tests=\"1\" failures=\"0\" skipped=\"0\" time=\"0.012\">",
        ] {
            assert!(xml.contains(part), "{part} is not in {xml}");
        }
    }

    #[test]
    fn programs_read_the_verdicts() {
        let json = report().to_json();
        assert_eq!((&json["pass"], &json["scenarios"][1]["pass"]), (&json!(false), &json!(true)));
        assert_eq!(json["scenarios"][0]["steps"][1]["verdict"], "failed");
        assert!(!Outcome::not_begun("x", "no file").passes());
    }
}
