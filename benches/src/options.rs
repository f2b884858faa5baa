//! The command line.

use std::path::PathBuf;

/// The choices of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The parts to measure, by their names; empty for all that run by default.
    pub only: Vec<String>,
    /// Rounds, in each of which all subjects take turns.
    pub rounds: usize,
    /// Calls of one subject in one round.
    pub calls: usize,
    /// Cycles in which sessions are opened and abandoned.
    pub cycles: usize,
    /// The duration of the mixed load, or of the overload, in minutes.
    pub minutes: usize,
    /// The number of sizes of each curve, from the smallest on.
    pub steps: usize,
    /// The file for all figures.
    pub json: Option<PathBuf>,
    /// The build of `pmcp` that is measured; `None`: the one in the target folder.
    pub pmcp: Option<PathBuf>,
    /// Other programs with the flags of `pmcp`, and their names.
    pub others: Vec<(String, PathBuf)>,
    /// The files to make tables and plots of; nothing is measured then.
    pub report: Option<Vec<PathBuf>>,
    /// False if the programs are taken as they are.
    pub builds: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            only: Vec::new(),
            rounds: 5,
            calls: 4_000,
            cycles: 3,
            minutes: 30,
            steps: usize::MAX,
            json: None,
            pmcp: None,
            others: Vec::new(),
            report: None,
            builds: true,
        }
    }
}

/// The flags, without the names of the parts.
const USAGE: &str = "\
usage: cargo bench -p protomcp-benches --bench bridge -- [FLAG...]
  --only PART[,PART]    measure these parts only; `curves` is all growth curves
  --rounds N (5)        rounds, in each of which all subjects take turns
  --calls N (4000)      calls of one subject in one round
  --cycles N (3)        cycles in which 10,000 sessions are opened and abandoned
  --minutes N (30)      duration of the parts `load` and `overload`
  --steps N (all)       sizes of each growth curve, from the smallest on
  --pmcp PATH           measure this build of pmcp, as scripts/profile-guided makes it, in place of a plain release
  --other [NAME=]PATH   measure another build of pmcp, too; may be repeated
  --json PATH           write all figures to a file; a relative path begins in the folder `benches`
  --no-build            measure the programs in the target folder as they are
  --report [PATH...]    measure nothing: write the tables of benches/README.md and the plots anew, from these files or
                        from all in benches/results
";

impl Options {
    /// Reads the words behind the name of the program. `parts` are the names of all parts.
    ///
    /// # Errors
    ///
    /// For an unknown flag or part, and a flag without its value: the text has the usage.
    pub fn parse(words: impl IntoIterator<Item = String>, parts: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| usage(parts, &format!("{word} has no value")));
            match word.as_str() {
                // Added by cargo.
                "--bench" => {}
                "--help" => return Err(usage(parts, "the flags and parts of the bench")),
                "--no-build" => options.builds = false,
                "--report" => {
                    options.report = Some(words.by_ref().filter(|word| word != "--bench").map(PathBuf::from).collect());
                }
                "--json" => options.json = Some(PathBuf::from(value()?)),
                "--pmcp" => options.pmcp = Some(PathBuf::from(value()?)),
                "--only" => options.select(&value()?, parts)?,
                "--other" => options.add_other(&value()?),
                name => {
                    let number = options.number(name).ok_or_else(|| usage(parts, &format!("unknown flag {name}")))?;
                    let text = value()?;
                    *number = text.parse().map_err(|_| usage(parts, &format!("{text} is not a number")))?;
                }
            }
        }
        Ok(options)
    }

    fn number(&mut self, name: &str) -> Option<&mut usize> {
        match name {
            "--rounds" => Some(&mut self.rounds),
            "--calls" => Some(&mut self.calls),
            "--cycles" => Some(&mut self.cycles),
            "--minutes" => Some(&mut self.minutes),
            "--steps" => Some(&mut self.steps),
            _ => None,
        }
    }

    fn select(&mut self, names: &str, parts: &[&str]) -> Result<(), String> {
        for name in names.split(',') {
            let found: Vec<_> =
                parts.iter().filter(|part| **part == name || name == "curves" && part.starts_with("curve-")).collect();
            if found.is_empty() {
                return Err(usage(parts, &format!("unknown part {name}")));
            }
            self.only.extend(found.into_iter().map(|part| (*part).to_owned()));
        }
        Ok(())
    }

    /// Without a name it is the name of the file: a path does not belong into results.
    fn add_other(&mut self, text: &str) {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) => (name.to_owned(), PathBuf::from(path)),
            None => {
                let path = PathBuf::from(text);
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (format!("other build ({file})"), path)
            }
        };
        self.others.push((name, path));
    }
}

fn usage(parts: &[&str], problem: &str) -> String {
    format!("{problem}\n{USAGE}  PART is {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [&str; 4] = ["stdio", "http", "curve-tools", "curve-results"];

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_owned), &PARTS)
    }

    #[test]
    fn flags_are_read() {
        let read =
            parse("--only http,curves --rounds 2 --other old=a/pmcp --other b/pmcp --pmcp c/pmcp --no-build --bench")
                .unwrap();
        let expected = Options {
            only: ["http", "curve-tools", "curve-results"].map(str::to_owned).to_vec(),
            rounds: 2,
            others: vec![("old".into(), "a/pmcp".into()), ("other build (pmcp)".into(), "b/pmcp".into())],
            pmcp: Some("c/pmcp".into()),
            builds: false,
            ..Options::default()
        };
        assert_eq!(read, expected);
        assert_eq!(parse("--bench"), Ok(Options::default()));
        assert_eq!(parse("--report --bench").unwrap().report, Some(Vec::new()));
        assert_eq!(parse("--report a.json b.json").unwrap().report, Some(vec!["a.json".into(), "b.json".into()]));
    }

    #[test]
    fn errors_name_the_problem_and_the_parts() {
        for (line, problem) in [
            ("--only tcp", "unknown part tcp"),
            ("--rounds", "--rounds has no value"),
            ("--rounds many", "many is not a number"),
            ("--fast", "unknown flag --fast"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
            assert!(error.ends_with("PART is stdio, http, curve-tools, curve-results"), "{error}");
        }
    }
}
