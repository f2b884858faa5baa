//! A run of the bench: parts in rounds, or the documents anew from results.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::bench::{Bench, Outcome, note};
use crate::machine::Machine;
use crate::measurement::Measurement;
use crate::options::Options;
use crate::parts::PARTS;
use crate::plot;
use crate::report::Report;
use crate::tables::distinct;

/// Measures the parts that the words of the command line choose, and prints tables.
///
/// # Errors
///
/// For words that cannot be read, programs that do not build or fail, and files that cannot be read or written.
pub fn run(words: impl IntoIterator<Item = String>) -> Outcome<()> {
    let options = Options::parse(words, &PARTS.map(|part| part.name))?;
    match options.report.clone() {
        Some(files) => remake(files, Path::new(env!("CARGO_MANIFEST_DIR"))),
        None => measure(options),
    }
}

fn measure(options: Options) -> Outcome<()> {
    let bench = Bench::new(options)?;
    let options = &bench.options;
    let mut report = Report { machine: Machine::now(&bench), rows: Vec::new() };
    let mut measurement = Measurement::default();
    for round in 0..options.rounds {
        report.machine.note_load();
        for part in PARTS.iter().filter(|part| part.runs(round, &options.only)) {
            note(&format!("round {} of {}: {}", round + 1, options.rounds, part.name));
            (part.round)(&bench, &mut measurement).map_err(|error| format!("{}: {error}", part.name))?;
        }
        report.rows = measurement.rows().to_vec();
        // After each round, so that a later failure takes nothing away.
        if let Some(path) = &options.json {
            report.write(path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    writeln!(io::stdout(), "{}", report.text())?;
    Ok(())
}

/// Writes the tables of the README in `folder`, and the plots next to the results.
fn remake(files: Vec<PathBuf>, folder: &Path) -> Outcome<()> {
    let results = folder.join("results");
    let files = if files.is_empty() { all(&results)? } else { files };
    let reports = files.iter().map(|file| Report::read(file)).collect::<io::Result<Vec<_>>>()?;
    if reports.is_empty() {
        return Err(format!("{} has no results: measure with --json first", results.display()).into());
    }
    Report::write_into(&folder.join("README.md"), &reports)?;
    for report in &reports {
        for part in distinct(&report.rows, |row| &row.part) {
            if let Some(picture) = plot::picture(part, &report.rows) {
                fs::write(results.join(format!("{part}.svg")), picture)?;
            }
        }
    }
    Ok(())
}

/// The results in a folder, by name.
fn all(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|kind| kind == "json"));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Metric, Row};

    #[test]
    fn the_documents_are_made_of_all_results() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results");
        fs::create_dir(&results).unwrap();
        let error = remake(Vec::new(), folder.path()).unwrap_err().to_string();
        assert!(error.contains("measure with --json first"), "{error}");

        let row = |part: &str| Row::new(part, "list", "pmcp").with(Metric::MedianUs, 12.0);
        let curve = [row("curve-tools").sized(10), row("curve-tools").sized(100)].to_vec();
        for (name, rows) in [("bridge.json", vec![row("stdio")]), ("curves.json", curve)] {
            Report { rows, ..Report::default() }.write(&results.join(name)).unwrap();
        }
        let readme = folder.path().join("README.md");
        fs::write(&readme, "no marks").unwrap();
        assert!(remake(Vec::new(), folder.path()).unwrap_err().to_string().contains("has no marks"));
        let document = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
        fs::write(&readme, document).unwrap();
        remake(Vec::new(), folder.path()).unwrap();
        let written = fs::read_to_string(&readme).unwrap();
        assert!(written.contains("\n| list | pmcp | 12.0 |\n") && written.contains("| list, 100 | pmcp | 12.0 |"));
        assert!(fs::read_to_string(results.join("curve-tools.svg")).unwrap().contains("<polyline"));
        assert!(!results.join("stdio.svg").exists());
    }
}
